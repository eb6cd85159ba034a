// One thread hands data to another through a flag: a[0] is the data, a[32] the flag.
#include <cuda/atomic>
#include "race.h"

//@ race data-race grid 2 block 1
extern "C" __global__ void flag_plain(int* a, int* b) {
  if (blockIdx.x == 0) {
    a[0] = 42;
    KEEP();
    a[32] = 1;
  } else {
    int f = a[32];
    KEEP();
    if (f) b[0] = a[0];
  }
}

//@ race data-race grid 2 block 1
extern "C" __global__ void flag_volatile_no_fence(int* a, int* b) {
  volatile int* flag = a + 32;
  if (blockIdx.x == 0) {
    a[0] = 42;
    *flag = 1;
  } else {
    while (*flag == 0) {}
    b[0] = a[0];
  }
}

//@ race data-race grid 2 block 1
extern "C" __global__ void flag_relaxed_no_fence(int* a, int* b) {
  if (blockIdx.x == 0) {
    a[0] = 42;
    KEEP();
    store_relaxed(a + 32, 1);
  } else {
    while (load_relaxed(a + 32) == 0) {}
    b[0] = a[0];
  }
}

//@ race data-race grid 2 block 1
extern "C" __global__ void flag_no_acquire(int* a, int* b) {
  if (blockIdx.x == 0) {
    a[0] = 42;
    store_release(a + 32, 1);
  } else {
    while (load_relaxed(a + 32) == 0) {}
    b[0] = a[0];
  }
}

//@ race data-race grid 2 block 1
extern "C" __global__ void flag_no_release(int* a, int* b) {
  if (blockIdx.x == 0) {
    a[0] = 42;
    store_relaxed(a + 32, 1);
  } else {
    while (load_acquire(a + 32) == 0) {}
    b[0] = a[0];
  }
}

//@ race data-race scope-race grid 2 block 1
extern "C" __global__ void release_of_the_block(int* a, int* b) {
  if (blockIdx.x == 0) {
    a[0] = 42;
    store_release_cta(a + 32, 1);
  } else {
    while (load_acquire(a + 32) == 0) {}
    b[0] = a[0];
  }
}

//@ race data-race scope-race grid 2 block 1
extern "C" __global__ void acquire_of_the_block(int* a, int* b) {
  if (blockIdx.x == 0) {
    a[0] = 42;
    store_release(a + 32, 1);
  } else {
    while (load_acquire_cta(a + 32) == 0) {}
    b[0] = a[0];
  }
}

//@ race data-race grid 2 block 1
extern "C" __global__ void fence_of_the_block(int* a, int* b) {
  if (blockIdx.x == 0) {
    a[0] = 42;
    __threadfence_block();
    store_relaxed(a + 32, 1);
  } else {
    while (load_acquire(a + 32) == 0) {}
    b[0] = a[0];
  }
}

//@ race data-race grid 2 block 1
extern "C" __global__ void fence_before_the_data(int* a, int* b) {
  if (blockIdx.x == 0) {
    __threadfence();
    a[0] = 42;
    KEEP();
    store_relaxed(a + 32, 1);
  } else {
    while (load_acquire(a + 32) == 0) {}
    b[0] = a[0];
  }
}

//@ race data-race grid 2 block 1
extern "C" __global__ void fence_after_the_read(int* a, int* b) {
  if (blockIdx.x == 0) {
    a[0] = 42;
    store_release(a + 32, 1);
  } else {
    while (load_relaxed(a + 32) == 0) {}
    b[0] = a[0];
    __threadfence();
  }
}

//@ race data-race grid 2 block 1
extern "C" __global__ void data_after_the_flag(int* a, int* b) {
  if (blockIdx.x == 0) {
    store_release(a + 32, 1);
    a[0] = 42;
  } else {
    while (load_acquire(a + 32) == 0) {}
    b[0] = a[0];
  }
}

//@ race data-race grid 2 block 1
extern "C" __global__ void fences_without_a_flag(int* a, int* b) {
  if (blockIdx.x == 0) {
    a[0] = 42;
    __threadfence();
  } else {
    __threadfence();
    b[0] = a[0];
  }
}

//@ race data-race grid 2 block 64
extern "C" __global__ void only_one_thread_acquires(int* a, int* b) {
  int t = threadIdx.x;
  if (blockIdx.x == 0) {
    a[t] = t;
    __syncthreads();
    if (t == 0) store_release(a + 100, 1);
  } else {
    if (t == 0)
      while (load_acquire(a + 100) == 0) {}
    KEEP();
    b[t] = a[t];
  }
}

//@ race data-race grid 2 block 64
extern "C" __global__ void only_one_thread_is_released(int* a, int* b) {
  int t = threadIdx.x;
  if (blockIdx.x == 0) {
    a[t] = t;
    if (t == 0) store_release(a + 100, 1);
  } else {
    if (t == 0)
      while (load_acquire(a + 100) == 0) {}
    __syncthreads();
    b[t] = a[t];
  }
}

//@ race data-race grid 3 block 1
extern "C" __global__ void chain_with_a_plain_link(int* a, int* b) {
  if (blockIdx.x == 0) {
    a[0] = 42;
    store_release(a + 32, 1);
  } else if (blockIdx.x == 1) {
    while (load_relaxed(a + 32) == 0) {}
    store_release(a + 64, 1);  // has not acquired what it passes on
  } else {
    while (load_acquire(a + 64) == 0) {}
    b[0] = a[0];
  }
}

//@ race data-race scope-race grid 2 block 1
extern "C" __global__ void atomic_ref_of_the_block(int* a, int* b) {
  cuda::atomic_ref<int, cuda::thread_scope_block> flag(a[32]);
  if (blockIdx.x == 0) {
    a[0] = 42;
    flag.store(1, cuda::memory_order_release);
  } else {
    while (flag.load(cuda::memory_order_acquire) == 0) {}
    b[0] = a[0];
  }
}

//@ race data-race grid 2 block 1
extern "C" __global__ void atomic_ref_relaxed(int* a, int* b) {
  cuda::atomic_ref<int, cuda::thread_scope_device> flag(a[32]);
  if (blockIdx.x == 0) {
    a[0] = 42;
    flag.store(1, cuda::memory_order_relaxed);
  } else {
    while (flag.load(cuda::memory_order_relaxed) == 0) {}
    b[0] = a[0];
  }
}

//@ race data-race grid 1 block 64
extern "C" __global__ void flag_in_shared_no_fence(int* a, int* b) {
  __shared__ int s[2], flag;
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  volatile int* f = &flag;
  if (threadIdx.x == 0) {
    s[a[0]] = 42;
    *f = 1;
  } else if (threadIdx.x == 32) {
    while (*f == 0) {}
    b[0] = s[a[0]];
  }
}

//@ clean grid 2 block 1
extern "C" __global__ void release_acquire(int* a, int* b) {
  if (blockIdx.x == 0) {
    a[0] = 42;
    store_release(a + 32, 1);
  } else {
    while (load_acquire(a + 32) == 0) {}
    b[0] = a[0];
  }
}

//@ clean grid 2 block 1
extern "C" __global__ void fences_and_relaxed(int* a, int* b) {
  if (blockIdx.x == 0) {
    a[0] = 42;
    fence_acq_rel_gpu();
    store_relaxed(a + 32, 1);
  } else {
    while (load_relaxed(a + 32) == 0) {}
    fence_acq_rel_gpu();
    b[0] = a[0];
  }
}

//@ clean grid 2 block 1
extern "C" __global__ void fences_and_volatile(int* a, int* b) {
  volatile int* flag = a + 32;
  if (blockIdx.x == 0) {
    a[0] = 42;
    __threadfence();
    *flag = 1;
  } else {
    while (*flag == 0) {}
    __threadfence();
    b[0] = a[0];
  }
}

//@ clean grid 2 block 1
extern "C" __global__ void atomic_ref_release_acquire(int* a, int* b) {
  cuda::atomic_ref<int, cuda::thread_scope_device> flag(a[32]);
  if (blockIdx.x == 0) {
    a[0] = 42;
    flag.store(1, cuda::memory_order_release);
  } else {
    while (flag.load(cuda::memory_order_acquire) == 0) {}
    b[0] = a[0];
  }
}

//@ clean grid 2 block 1
extern "C" __global__ void atomic_ref_sequential(int* a, int* b) {
  cuda::atomic_ref<int, cuda::thread_scope_system> flag(a[32]);
  if (blockIdx.x == 0) {
    a[0] = 42;
    flag.store(1);
  } else {
    while (flag.load() == 0) {}
    b[0] = a[0];
  }
}

//@ clean grid 2 block 1
extern "C" __global__ void exchange_with_fences(int* a, int* b) {
  if (blockIdx.x == 0) {
    a[0] = 42;
    __threadfence();
    atomicExch(a + 32, 1);
  } else {
    while (atomicAdd(a + 32, 0) == 0) {}
    __threadfence();
    b[0] = a[0];
  }
}

//@ clean grid 3 block 1
extern "C" __global__ void through_a_relaxed_atomic(int* a, int* b) {
  if (blockIdx.x == 0) {
    a[0] = 42;
    store_release(a + 32, 1);
  } else if (blockIdx.x == 1) {
    while (load_relaxed(a + 32) == 0) {}
    add_relaxed(a + 32, 1);  // continues the release sequence
  } else {
    while (load_acquire(a + 32) != 2) {}
    b[0] = a[0];
  }
}

//@ clean grid 1 block 64
extern "C" __global__ void scope_of_the_block_within_it(int* a, int* b) {
  if (threadIdx.x == 0) {
    a[0] = 42;
    store_release_cta(a + 32, 1);
  } else if (threadIdx.x == 32) {
    while (load_acquire_cta(a + 32) == 0) {}
    b[0] = a[0];
  }
}

//@ clean grid 2 block 64
extern "C" __global__ void one_thread_speaks_for_its_block(int* a, int* b) {
  int t = threadIdx.x;
  if (blockIdx.x == 0) {
    a[t] = t;
    __syncthreads();
    if (t == 0) store_release(a + 100, 1);
  } else {
    if (t == 0)
      while (load_acquire(a + 100) == 0) {}
    __syncthreads();
    b[t] = a[63 - t];
  }
}

//@ clean grid 2 block 1
extern "C" __global__ void system_scope(int* a, int* b) {
  if (blockIdx.x == 0) {
    a[0] = 42;
    store_release_sys(a + 32, 1);
  } else {
    while (load_acquire_sys(a + 32) == 0) {}
    b[0] = a[0];
  }
}

//@ clean grid 3 block 1
extern "C" __global__ void chain_of_three(int* a, int* b) {
  if (blockIdx.x == 0) {
    a[0] = 42;
    store_release(a + 32, 1);
  } else if (blockIdx.x == 1) {
    while (load_acquire(a + 32) == 0) {}
    store_release(a + 64, 1);
  } else {
    while (load_acquire(a + 64) == 0) {}
    b[0] = a[0];
  }
}

//@ clean grid 2 block 1
extern "C" __global__ void release_then_relaxed_store(int* a, int* b) {
  if (blockIdx.x == 0) {
    a[0] = 42;
    store_release(a + 32, 1);
    store_relaxed(a + 32, 2);
  } else {
    while (load_acquire(a + 32) != 2) {}
    b[0] = a[0];
  }
}

//@ clean grid 2 block 1
extern "C" __global__ void ping_pong(int* a, int* b) {
  int me = blockIdx.x;
  for (int i = 0; i < 4; i++) {
    while (load_acquire(a + 32) != 2 * i + me) {}
    a[0] += me + 1;
    store_release(a + 32, 2 * i + me + 1);
  }
}

//@ clean grid 2 block 32
extern "C" __global__ void each_thread_its_own_flag(int* a, int* b) {
  int t = threadIdx.x;
  if (blockIdx.x == 0) {
    a[t] = t;
    store_release(a + 64 + t, 1);
  } else {
    while (load_acquire(a + 64 + t) == 0) {}
    b[t] = a[t];
  }
}

//@ clean grid 2 block 32
extern "C" __global__ void all_threads_poll_one_flag(int* a, int* b) {
  int t = threadIdx.x;
  if (blockIdx.x == 0) {
    if (t == 0) {
      a[0] = 42;
      __threadfence();
      store_relaxed(a + 32, 1);
    }
  } else {
    while (load_relaxed(a + 32) == 0) {}
    __threadfence();
    b[t] = a[0];
  }
}

//@ clean grid 1 block 64
extern "C" __global__ void flag_in_shared(int* a, int* b) {
  __shared__ int s[2], flag;
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  volatile int* f = &flag;
  if (threadIdx.x == 0) {
    s[a[0]] = 42;
    __threadfence_block();
    *f = 1;
  } else if (threadIdx.x == 32) {
    while (*f == 0) {}
    __threadfence_block();
    b[0] = s[a[0]];
  }
}

//@ clean grid 1 block 32
extern "C" __global__ void lane_to_lane(int* a, int* b) {
  if (threadIdx.x == 3) {
    a[0] = 42;
    store_release_cta(a + 32, 1);
  } else if (threadIdx.x == 7) {
    while (load_acquire_cta(a + 32) == 0) {}
    b[0] = a[0];
  }
}
