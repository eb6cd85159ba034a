// Atomics: scopes, counters, locks, tickets, the last block.
#include "race.h"

//@ race scope-race grid 2 block 1
extern "C" __global__ void block_scope_in_two_blocks(int* a, int* b) {
  atomicAdd_block(a, 1);
}

//@ race scope-race grid 2 block 1
extern "C" __global__ void one_side_of_block_scope(int* a, int* b) {
  if (blockIdx.x == 0) atomicAdd_block(a, 1);
  else atomicAdd(a, 1);
}

//@ race scope-race grid 2 block 64
extern "C" __global__ void histogram_of_block_scope(int* a, int* b) {
  atomicAdd_block(&b[threadIdx.x % 8], 1);
}

//@ race data-race grid 2 block 1
extern "C" __global__ void atomic_and_plain_read(int* a, int* b) {
  if (blockIdx.x == 0) atomicAdd(a, 1);
  else b[0] = a[0];
}

//@ race data-race grid 2 block 1
extern "C" __global__ void atomic_and_plain_reset(int* a, int* b) {
  if (blockIdx.x == 0) a[0] = 0;
  else atomicAdd(a, 1);
}

//@ race data-race grid 2 block 1
extern "C" __global__ void plain_increment(int* a, int* b) {
  a[0]++;
}

//@ race data-race warp-race grid 1 block 64
extern "C" __global__ void plain_histogram(int* a, int* b) {
  __shared__ int s[8];
  int t = threadIdx.x;
  if (t < 8) s[t] = 0;
  __syncthreads();
  s[t % 8]++;
  __syncthreads();
  if (t < 8) b[t] = s[t];
}

//@ race data-race grid 3 block 64
extern "C" __global__ void last_block_no_fence(int* a, int* b) {
  __shared__ bool last;
  int t = threadIdx.x;
  if (t == 0) {
    a[blockIdx.x] = blockIdx.x;
    last = atomicInc((unsigned*)a + 64, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && t < gridDim.x) b[t] = a[t];
}

//@ race data-race grid 3 block 64
extern "C" __global__ void last_block_fence_of_the_block(int* a, int* b) {
  __shared__ bool last;
  int t = threadIdx.x;
  if (t == 0) {
    a[blockIdx.x] = blockIdx.x;
    __threadfence_block();
    last = atomicInc((unsigned*)a + 64, gridDim.x - 1) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  if (last && t < gridDim.x) b[t] = a[t];
}

//@ race data-race grid 3 block 64
extern "C" __global__ void last_block_does_not_acquire(int* a, int* b) {
  __shared__ bool last;
  int t = threadIdx.x;
  if (t == 0) {
    a[blockIdx.x] = blockIdx.x;
    __threadfence();
    last = atomicInc((unsigned*)a + 64, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && t < gridDim.x) b[t] = a[t];
}

//@ race data-race grid 3 block 64
extern "C" __global__ void last_block_before_the_others_are_done(int* a, int* b) {
  __shared__ bool last;
  int t = threadIdx.x;
  a[64 * blockIdx.x + t] = t;  // by all threads, and only the first one fences
  if (t == 0) {
    __threadfence();
    last = atomicInc((unsigned*)b + 1000, gridDim.x - 1) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  if (last) b[t] = a[t] + a[64 + t] + a[128 + t];
}

//@ race data-race grid 3 block 1
extern "C" __global__ void lock_without_fences(int* a, int* b) {
  while (atomicCAS(a + 32, 0, 1) != 0) {}
  a[0]++;
  KEEP();
  atomicExch(a + 32, 0);
}

//@ race data-race grid 3 block 1
extern "C" __global__ void lock_released_without_fence(int* a, int* b) {
  while (cas_acquire(a + 32, 0, 1) != 0) {}
  a[0]++;
  KEEP();
  store_relaxed(a + 32, 0);
}

//@ race data-race grid 3 block 1
extern "C" __global__ void lock_taken_without_fence(int* a, int* b) {
  while (atomicCAS(a + 32, 0, 1) != 0) {}
  KEEP();
  a[0]++;
  store_release(a + 32, 0);
}

//@ race data-race scope-race grid 3 block 1
extern "C" __global__ void lock_of_block_scope(int* a, int* b) {
  while (atomicCAS_block(a + 32, 0, 1) != 0) {}
  __threadfence_block();
  a[0]++;
  __threadfence_block();
  atomicExch_block(a + 32, 0);
}

//@ race data-race grid 2 block 1
extern "C" __global__ void two_locks_for_one_place(int* a, int* b) {
  int* lock = a + 32 + blockIdx.x;
  while (cas_acquire(lock, 0, 1) != 0) {}
  a[0]++;
  store_release(lock, 0);
}

//@ race data-race grid 3 block 1
extern "C" __global__ void ticket_without_fences(int* a, int* b) {
  int mine = add_relaxed(a + 32, 1);
  while (load_relaxed(a + 64) != mine) {}
  a[0]++;
  KEEP();
  store_relaxed(a + 64, mine + 1);
}

//@ race data-race warp-race grid 2 block 32
extern "C" __global__ void cas_loop_starts_with_a_plain_read(int* a, int* b) {
  int old = a[0], assumed;
  do {
    assumed = old;
    old = atomicCAS(a, assumed, assumed + 2);
  } while (old != assumed);
}

//@ race data-race grid 2 block 1
extern "C" __global__ void found_flag_is_plain(int* a, int* b) {
  if (a[0] == 0) a[0] = 1;
}

//@ clean grid 4 block 64
extern "C" __global__ void counter(int* a, int* b) {
  atomicAdd(a, 1);
  atomicMax(a + 1, (int)threadIdx.x);
  atomicOr(a + 2, 1 << blockIdx.x);
}

//@ clean grid 4 block 64
extern "C" __global__ void slots_by_counter(int* a, int* b) {
  b[atomicAdd(a, 1)] = threadIdx.x;
}

//@ clean grid 2 block 64
extern "C" __global__ void block_scope_in_one_block(int* a, int* b) {
  int* mine = a + blockIdx.x;
  atomicAdd_block(mine, 1);
  __syncthreads();
  b[64 * blockIdx.x + threadIdx.x] = *mine;
}

//@ clean grid 3 block 64
extern "C" __global__ void last_block_with_fences(int* a, int* b) {
  __shared__ bool last;
  int t = threadIdx.x;
  a[64 * blockIdx.x + t] = t;
  __threadfence();
  __syncthreads();
  if (t == 0) last = atomicInc((unsigned*)b + 1000, gridDim.x - 1) == gridDim.x - 1;
  __syncthreads();
  if (last) {
    __threadfence();
    b[t] = a[t] + a[64 + t] + a[128 + t];
  }
}

//@ clean grid 3 block 64
extern "C" __global__ void last_block_one_fence_for_all(int* a, int* b) {
  __shared__ bool last;
  int t = threadIdx.x;
  a[64 * blockIdx.x + t] = t;
  __syncthreads();
  if (t == 0) {
    __threadfence();
    last = atomicInc((unsigned*)b + 1000, gridDim.x - 1) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  if (last) b[t] = a[t] + a[64 + t] + a[128 + t];
}

//@ clean grid 3 block 64
extern "C" __global__ void last_block_volatile_partials(int* a, int* b) {
  __shared__ bool last;
  volatile int* partial = a;
  int t = threadIdx.x;
  if (t == 0) {
    partial[blockIdx.x] = blockIdx.x;
    __threadfence();
    last = atomicInc((unsigned*)b + 1000, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && t < gridDim.x) b[t] = partial[t];
}

//@ clean grid 4 block 1
extern "C" __global__ void last_resets_the_counter(int* a, int* b) {
  if (atomicAdd(a, 1) == gridDim.x - 1) a[0] = 0;
}

//@ clean grid 3 block 1
extern "C" __global__ void lock_with_fences(int* a, int* b) {
  while (atomicCAS(a + 32, 0, 1) != 0) {}
  __threadfence();
  a[0]++;
  __threadfence();
  atomicExch(a + 32, 0);
}

//@ clean grid 3 block 1
extern "C" __global__ void lock_acquire_release(int* a, int* b) {
  while (cas_acquire(a + 32, 0, 1) != 0) {}
  a[0]++;
  store_release(a + 32, 0);
}

//@ clean grid 2 block 32
extern "C" __global__ void lock_by_every_lane(int* a, int* b) {
  bool done = false;
  while (!done) {
    if (cas_acquire(a + 32, 0, 1) == 0) {
      a[0]++;
      store_release(a + 32, 0);
      done = true;
    }
  }
}

//@ clean grid 1 block 64
extern "C" __global__ void lock_of_block_scope_in_one_block(int* a, int* b) {
  if (threadIdx.x % 32 == 0) {
    while (atomicCAS_block(a + 32, 0, 1) != 0) {}
    __threadfence_block();
    a[0]++;
    __threadfence_block();
    atomicExch_block(a + 32, 0);
  }
}

//@ clean grid 4 block 1
extern "C" __global__ void ticket_lock(int* a, int* b) {
  int mine = add_relaxed(a + 32, 1);
  while (load_acquire(a + 64) != mine) {}
  a[0]++;
  store_release(a + 64, mine + 1);
}

//@ clean grid 4 block 32
extern "C" __global__ void tickets_choose_the_order(int* a, int* b) {
  int t = threadIdx.x;
  int mine;
  if (t == 0) {
    mine = add_relaxed(a + 32, 1);
    while (load_acquire(a + 64) != mine) {}
  }
  __syncwarp();
  b[t] += t;
  __syncwarp();
  if (t == 0) store_release(a + 64, mine + 1);
}

//@ clean grid 4 block 64
extern "C" __global__ void histogram_in_two_levels(int* a, int* b) {
  __shared__ int s[8];
  int t = threadIdx.x;
  if (t < 8) s[t] = 0;
  __syncthreads();
  atomicAdd(&s[t % 8], 1);
  __syncthreads();
  if (t < 8) atomicAdd(&b[t], s[t]);
}

//@ clean grid 2 block 32
extern "C" __global__ void cas_loop_starts_with_a_volatile_read(int* a, int* b) {
  int old = *(volatile int*)a, assumed;
  do {
    assumed = old;
    old = atomicCAS(a, assumed, assumed + 2);
  } while (old != assumed);
}

//@ clean grid 3 block 1
extern "C" __global__ void counter_synchronises(int* a, int* b) {
  a[blockIdx.x] = 1;
  if (add_acq_rel(b + 64, 1) == 2) b[0] = a[0] + a[1] + a[2];
}

//@ clean grid 2 block 1
extern "C" __global__ void volatile_counter(int* a, int* b) {
  // Loses counts, but strong accesses that hold each other in scope do not race.
  volatile int* v = a;
  *v = *v + 1;
}

//@ clean grid 1 block 64
extern "C" __global__ void atomics_then_barrier_then_read(int* a, int* b) {
  atomicAdd(a, 1);
  __syncthreads();
  b[threadIdx.x] = a[0];
}

//@ clean grid 3 block 32
extern "C" __global__ void work_queue(int* a, int* b) {
  __shared__ int item;
  int t = threadIdx.x;
  for (;;) {
    if (t == 0) item = atomicAdd(a, 1);
    __syncthreads();
    int mine = item;
    __syncthreads();
    if (mine >= 8) break;
    b[32 * mine + t] = t;
  }
}

//@ race data-race grid 1 block 96
extern "C" __global__ void lock_between_warps_without_fences(int* a, int* b) {
  if (threadIdx.x % 32 == 0) {
    while (atomicCAS(a + 32, 0, 1) != 0) {}
    a[0]++;
    KEEP();
    atomicExch(a + 32, 0);
  }
}
