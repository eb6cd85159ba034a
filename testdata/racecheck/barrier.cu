// Threads of one block: barriers, missing and not. Every kernel gets two arrays of 4096 zeros.
// A line `//@ clean` or `//@ race KIND...` before a kernel says what racecheck has to find,
// `grid` and `block` how it is launched.
#include "race.h"

//@ race data-race grid 1 block 64
extern "C" __global__ void shared_no_barrier(int* a, int* b) {
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = a[t];
  KEEP();
  b[t] = s[63 - t];
}

//@ race data-race grid 1 block 64
extern "C" __global__ void shared_war_no_barrier(int* a, int* b) {
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = a[t];
  __syncthreads();
  b[t] = s[63 - t];
  KEEP();
  s[t] = t;
  __syncthreads();
  b[64 + t] = s[63 - t];
}

//@ race data-race grid 1 block 128
extern "C" __global__ void barrier_of_half_the_warps(int* a, int* b) {
  __shared__ int s[64];
  int t = threadIdx.x;
  if (t < 64) {
    s[t] = t;
    bar_sync(1, 64);
  }
  KEEP();
  b[t] = s[63 - t % 64];
}

//@ race data-race grid 1 block 128
extern "C" __global__ void barriers_with_two_numbers(int* a, int* b) {
  __shared__ int s[128];
  int t = threadIdx.x;
  s[t] = t;
  bar_sync(1 + t / 64, 64);
  b[t] = s[127 - t];
}

//@ race data-race grid 1 block 64
extern "C" __global__ void barrier_in_the_first_round(int* a, int* b) {
  __shared__ int s[64];
  int t = threadIdx.x, sum = 0;
  for (int i = 0; i < 3; i++) {
    s[t] = i;
    if (i == 0) __syncthreads();
    KEEP();
    sum += s[63 - t];
  }
  b[t] = sum;
}

//@ race data-race grid 2 block 64
extern "C" __global__ void global_no_barrier_in_block(int* a, int* b) {
  int t = threadIdx.x, base = blockIdx.x * 64;
  a[base + t] = t;
  KEEP();
  b[base + t] = a[base + 63 - t];
}

//@ race data-race grid 1 block 64
extern "C" __global__ void arrive_does_not_wait(int* a, int* b) {
  __shared__ int s[32];
  int t = threadIdx.x;
  if (t < 32) {
    s[t] = t;
    bar_sync(1, 64);
  } else {
    bar_arrive(1, 64);
    b[t] = s[t - 32];
  }
}

//@ race data-race grid 1 block 128
extern "C" __global__ void reduce_misses_a_barrier(int* a, int* b) {
  __shared__ int s[128];
  int t = threadIdx.x;
  s[t] = a[t];
  __syncthreads();
  for (int d = 64; d > 0; d >>= 1) {
    if (t < d) s[t] += s[t + d];
    if (d < 64) __syncthreads();
  }
  if (t == 0) b[0] = s[0];
}

//@ race data-race warp-race grid 1 block 64
extern "C" __global__ void scan_in_place(int* a, int* b) {
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = a[t];
  __syncthreads();
  for (int d = 1; d < 64; d *= 2) {
    if (t >= d) s[t] += s[t - d];
    __syncthreads();
  }
  b[t] = s[t];
}

//@ race data-race grid 2 block 64
extern "C" __global__ void tile_reloaded_too_early(int* a, int* b) {
  __shared__ int s[64];
  int t = threadIdx.x, sum = 0;
  for (int i = 0; i < 4; i++) {
    s[t] = a[64 * i + t];
    __syncthreads();
    sum += s[63 - t];
  }
  b[blockIdx.x * 64 + t] = sum;
}

//@ race data-race grid 1 block 64
extern "C" __global__ void fence_is_no_barrier(int* a, int* b) {
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = a[t];
  __threadfence_block();
  b[t] = s[63 - t];
}

//@ race data-race grid 1 block 96
extern "C" __global__ void exited_threads_do_not_arrive(int* a, int* b) {
  __shared__ int s[96];
  int t = threadIdx.x;
  s[t] = t;
  if (t >= 64) return;
  __syncthreads();
  b[t] = s[t + 32];
}

//@ race data-race grid 1 block 128
extern "C" __global__ void three_warps_of_four(int* a, int* b) {
  __shared__ int s[128];
  int t = threadIdx.x;
  s[t] = t;
  if (t < 96) {
    bar_sync(3, 96);
    b[t] = s[t + 32];
  }
}

//@ race data-race grid 1 block 64
extern "C" __global__ void producer_overtakes_consumer(int* a, int* b) {
  __shared__ int s[32];
  int t = threadIdx.x % 32;
  for (int i = 0; i < 3; i++) {
    if (threadIdx.x < 32) {
      s[t] = i;
      bar_sync(1, 64);
      s[t] = i + 100;  // nobody says that it was read
      bar_sync(2, 64);
    } else {
      bar_sync(1, 64);
      b[t] += s[t];
      bar_sync(2, 64);
    }
  }
}

//@ clean grid 2 block 64
extern "C" __global__ void shared_barrier(int* a, int* b) {
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = a[t];
  __syncthreads();
  b[blockIdx.x * 64 + t] = s[63 - t];
}

//@ clean grid 2 block 64
extern "C" __global__ void double_buffer(int* a, int* b) {
  __shared__ int s[2][64];
  int t = threadIdx.x, sum = 0;
  s[0][t] = a[t];
  __syncthreads();
  for (int i = 0; i < 6; i++) {
    s[(i + 1) & 1][t] = a[64 * i + t];
    sum += s[i & 1][63 - t];
    __syncthreads();
  }
  b[blockIdx.x * 64 + t] = sum;
}

//@ clean grid 3 block 128
extern "C" __global__ void reduce_tree(int* a, int* b) {
  __shared__ int s[128];
  int t = threadIdx.x;
  s[t] = a[t];
  __syncthreads();
  for (int d = 64; d > 0; d >>= 1) {
    if (t < d) s[t] += s[t + d];
    __syncthreads();
  }
  if (t == 0) b[blockIdx.x] = s[0];
}

//@ clean grid 1 block 96
extern "C" __global__ void scan_with_two_barriers(int* a, int* b) {
  __shared__ int s[96];
  int t = threadIdx.x;
  s[t] = a[t];
  __syncthreads();
  for (int d = 1; d < 96; d *= 2) {
    int v = t >= d ? s[t - d] : 0;
    __syncthreads();
    s[t] += v;
    __syncthreads();
  }
  b[t] = s[t];
}

//@ clean grid 2 block 16,16
extern "C" __global__ void transpose_tile(int* a, int* b) {
  __shared__ int s[16][17];
  int x = threadIdx.x, y = threadIdx.y;
  s[y][x] = a[y * 16 + x];
  __syncthreads();
  b[blockIdx.x * 256 + y * 16 + x] = s[x][y];
}

//@ clean grid 1 block 64
extern "C" __global__ void producer_and_consumer(int* a, int* b) {
  __shared__ int s[2][32];
  int t = threadIdx.x % 32;
  if (threadIdx.x < 32) {
    for (int i = 0; i < 6; i++) {
      bar_sync(3 + (i & 1), 64);  // empty
      s[i & 1][t] = a[32 * i + t];
      bar_arrive(1 + (i & 1), 64);  // full
    }
  } else {
    bar_arrive(3, 64);
    bar_arrive(4, 64);
    int sum = 0;
    for (int i = 0; i < 6; i++) {
      bar_sync(1 + (i & 1), 64);
      sum += s[i & 1][31 - t];
      if (i < 4) bar_arrive(3 + (i & 1), 64);
    }
    b[t] = sum;
  }
}

//@ clean grid 1 block 128
extern "C" __global__ void each_half_its_own_barrier(int* a, int* b) {
  __shared__ int s[128];
  int t = threadIdx.x, half = t / 64 * 64;
  for (int i = 0; i < 3; i++) {
    s[t] = i;
    bar_sync(1 + t / 64, 64);
    b[t] += s[half + 63 - t % 64];
    bar_sync(1 + t / 64, 64);
  }
}

//@ clean grid 1 block 64
extern "C" __global__ void barrier_that_reduces(int* a, int* b) {
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = t;
  int n = __syncthreads_count(t & 1);
  b[t] = s[63 - t] + n;
}

//@ clean grid 2 block 96
extern "C" __global__ void early_exit(int* a, int* b) {
  __shared__ int s[64];
  int t = threadIdx.x;
  if (t >= 64) return;
  s[t] = a[t];
  __syncthreads();
  b[blockIdx.x * 64 + t] = s[63 - t];
}

//@ clean grid 2 block 64
extern "C" __global__ void global_barrier_in_block(int* a, int* b) {
  int t = threadIdx.x, base = blockIdx.x * 64;
  a[base + t] = t;
  __syncthreads();
  b[base + t] = a[base + 63 - t];
}

//@ clean grid 1 block 96
extern "C" __global__ void three_stages(int* a, int* b) {
  __shared__ int s[32], u[32];
  int t = threadIdx.x % 32, stage = threadIdx.x / 32;
  if (stage == 0) {
    s[t] = a[t];
    bar_arrive(1, 64);
  } else if (stage == 1) {
    bar_sync(1, 64);
    u[t] = s[31 - t] + 1;
    bar_arrive(2, 64);
  } else {
    bar_sync(2, 64);
    // What the first stage wrote is known through the second.
    b[t] = u[31 - t] + s[t];
  }
}

//@ clean grid 2 block 128
extern "C" __global__ void one_warp_loads_for_all(int* a, int* b) {
  __shared__ int s[32];
  int t = threadIdx.x, sum = 0;
  for (int i = 0; i < 4; i++) {
    if (t / 32 == i) s[t % 32] = a[t];
    __syncthreads();
    sum += s[(t + i) % 32];
    __syncthreads();
  }
  b[blockIdx.x * 128 + t] = sum;
}

//@ clean grid 1 block 40
extern "C" __global__ void a_warp_of_eight(int* a, int* b) {
  __shared__ int s[40];
  int t = threadIdx.x;
  s[t] = t;
  __syncthreads();
  b[t] = s[39 - t];
}

//@ race data-race grid 1 block 64
extern "C" __global__ void unrolled_without_a_barrier(int* a, int* b) {
  int t = threadIdx.x, sum = 0;
#pragma unroll
  for (int k = 0; k < 16; k++) a[64 * k + t] = k;
  KEEP();
#pragma unroll
  for (int k = 0; k < 16; k++) sum += a[64 * k + 63 - t];
  b[t] = sum;
}
