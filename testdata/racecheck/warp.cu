// Lanes of one warp: they need not run in step.
#include "race.h"

//@ race warp-race grid 1 block 32
extern "C" __global__ void warp_no_sync(int* a, int* b) {
  __shared__ int s[32];
  int t = threadIdx.x;
  s[t] = a[t];
  KEEP();
  b[t] = s[t ^ 1];
}

//@ race warp-race grid 1 block 32
extern "C" __global__ void divergent_no_sync(int* a, int* b) {
  __shared__ int s[32];
  int t = threadIdx.x;
  if (t < 16) {
    s[t] = a[t];
  }
  KEEP();
  if (t >= 16) b[t] = s[t - 16];
}

//@ race warp-race grid 1 block 32
extern "C" __global__ void sync_too_early(int* a, int* b) {
  __shared__ int s[32];
  int t = threadIdx.x;
  __syncwarp();
  s[t] = a[t];
  KEEP();
  b[t] = s[31 - t];
}

//@ race warp-race grid 1 block 32
extern "C" __global__ void shuffle_orders_no_memory(int* a, int* b) {
  __shared__ int s[32];
  int t = threadIdx.x;
  s[t] = a[t];
  int v = __shfl_xor_sync(0xffffffff, t, 1);
  KEEP();
  b[t] = s[v];
}

//@ race warp-race grid 1 block 32
extern "C" __global__ void ballot_orders_no_memory(int* a, int* b) {
  int t = threadIdx.x;
  a[t] = t;
  unsigned m = __ballot_sync(0xffffffff, t & 1);
  KEEP();
  b[t] = a[31 - t] + m;
}

//@ race warp-race grid 1 block 32
extern "C" __global__ void sync_of_half_the_lanes(int* a, int* b) {
  __shared__ int s[32];
  int t = threadIdx.x;
  s[t] = t;
  if (t < 16) __syncwarp(0xffff);
  KEEP();
  b[t] = s[31 - t];
}

//@ race warp-race grid 1 block 32
extern "C" __global__ void all_lanes_write_one_word(int* a, int* b) {
  a[0] = 1;
}

//@ race warp-race grid 1 block 32
extern "C" __global__ void lanes_collide(int* a, int* b) {
  int t = threadIdx.x;
  b[t / 2] = t;
}

//@ race warp-race grid 1 block 32
extern "C" __global__ void tile_reads_its_neighbour(int* a, int* b) {
  __shared__ int s[32];
  int t = threadIdx.x;
  unsigned tile = 0xffu << (t & ~7);
  s[t] = t;
  __syncwarp(tile);
  b[t] = s[(t + 8) % 32];
}

//@ race warp-race grid 1 block 32
extern "C" __global__ void reduce_without_sync(int* a, int* b) {
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = a[t];
  s[t + 32] = 0;
  __syncwarp();
  for (int d = 16; d > 0; d >>= 1) {
    if (t < d) s[t] += s[t + d];
    KEEP();
  }
  if (t == 0) b[0] = s[0];
}

//@ race warp-race grid 1 block 64
extern "C" __global__ void loop_reuses_without_sync(int* a, int* b) {
  __shared__ int s[64];
  int t = threadIdx.x, lane = t % 32, base = t - lane, sum = 0;
  for (int i = 0; i < 4; i++) {
    s[t] = i;
    __syncwarp();
    sum += s[base + 31 - lane];
    KEEP();
  }
  b[t] = sum;
}

//@ race warp-race grid 1 block 32
extern "C" __global__ void leader_overwrites_early(int* a, int* b) {
  __shared__ int s;
  int t = threadIdx.x;
  if (t == 0) s = 5;
  __syncwarp();
  b[t] = s;
  KEEP();
  if (t == 0) s = 6;
}

//@ clean grid 1 block 64
extern "C" __global__ void warp_sync(int* a, int* b) {
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = a[t];
  __syncwarp();
  b[t] = s[t ^ 1];
}

//@ clean grid 1 block 32
extern "C" __global__ void divergent_then_sync(int* a, int* b) {
  __shared__ int s[32];
  int t = threadIdx.x;
  if (t < 16) s[t] = a[t];
  else a[t + 100] = t;
  __syncwarp();
  if (t >= 16) b[t] = s[t - 16];
  else b[t] = a[t + 116];
}

//@ clean grid 2 block 64
extern "C" __global__ void shuffle_reduce(int* a, int* b) {
  __shared__ int s[2];
  int t = threadIdx.x, v = a[t];
  for (int d = 16; d > 0; d >>= 1) v += __shfl_down_sync(0xffffffff, v, d);
  if (t % 32 == 0) s[t / 32] = v;
  __syncthreads();
  if (t == 0) b[blockIdx.x] = s[0] + s[1];
}

//@ clean grid 1 block 32
extern "C" __global__ void tiles_of_eight(int* a, int* b) {
  __shared__ int s[32];
  int t = threadIdx.x, base = t & ~7;
  unsigned tile = 0xffu << base;
  for (int i = 0; i < 3; i++) {
    s[t] = t + i;
    __syncwarp(tile);
    b[t] += s[base + (t + 3) % 8];
    __syncwarp(tile);
    if (t == base) s[base + 7] = i;  // read by its tile only
    __syncwarp(tile);
  }
}

//@ clean grid 1 block 32
extern "C" __global__ void leader_writes_after_sync(int* a, int* b) {
  __shared__ int s;
  int t = threadIdx.x;
  if (t == 0) s = 5;
  __syncwarp();
  b[t] = s;
  __syncwarp();
  if (t == 0) s = 6;
}

//@ clean grid 2 block 64
extern "C" __global__ void warp_aggregated_atomic(int* a, int* b) {
  int t = threadIdx.x;
  if (t % 3 == 0) {
    unsigned active = __activemask();
    int leader = __ffs(active) - 1, lane = t % 32, base = 0;
    if (lane == leader) base = atomicAdd(&a[0], __popc(active));
    base = __shfl_sync(active, base, leader);
    b[base + __popc(active & ((1u << lane) - 1))] = t;
  }
}

//@ clean grid 1 block 32
extern "C" __global__ void sync_of_those_that_share(int* a, int* b) {
  __shared__ int s[16];
  int t = threadIdx.x;
  if (t < 16) {
    s[t] = a[t];
    __syncwarp(0xffff);
    b[t] = s[15 - t];
  } else {
    b[t] = t;
  }
}

//@ clean grid 1 block 64
extern "C" __global__ void reduce_with_sync(int* a, int* b) {
  __shared__ int s[64];
  int t = threadIdx.x, lane = t % 32;
  s[t] = a[t];
  __syncwarp();
  for (int d = 16; d > 0; d >>= 1) {
    int v = lane < d ? s[t + d] : 0;
    __syncwarp();
    if (lane < d) s[t] += v;
    __syncwarp();
  }
  __syncthreads();
  if (t == 0) b[0] = s[0] + s[32];
}

//@ clean grid 1 block 32
extern "C" __global__ void volatile_lanes(int* a, int* b) {
  // Strong accesses of a wide scope do not race, though nothing says who comes first.
  volatile int* v = a;
  int t = threadIdx.x;
  v[t] = t;
  b[t] = v[31 - t];
}

//@ clean grid 1 block 32
extern "C" __global__ void lane_after_lane(int* a, int* b) {
  __shared__ int s;
  int t = threadIdx.x;
  if (t == 0) s = 0;
  __syncwarp();
  for (int i = 0; i < 32; i++) {
    if (t == i) s += i;
    __syncwarp();
  }
  b[t] = s;
}

//@ clean grid 1 block 32
extern "C" __global__ void divergent_paths_meet(int* a, int* b) {
  __shared__ int s[32];
  int t = threadIdx.x;
  if (t & 1) {
    s[t] = t;
    __syncwarp();
  } else {
    s[t] = -t;
    __syncwarp();
  }
  b[t] = s[t ^ 1];
}

//@ clean grid 1 block 20
extern "C" __global__ void part_of_a_warp(int* a, int* b) {
  __shared__ int s[20];
  int t = threadIdx.x;
  s[t] = t;
  __syncwarp();
  b[t] = s[19 - t];
}
