// Tensor maps that kernels write: the fence of their proxy between that and a copy that uses them.
#include "race.h"

__device__ __forceinline__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void init(unsigned long long* m) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1; fence.proxy.async;" ::"r"(at(m)) : "memory");
}
// 32 words of a tensor of 1024, and their arrival.
__device__ __forceinline__ void load(int* to, const void* map, int from, unsigned long long* m, int parity) {
  asm volatile("{ .reg .b64 s; mbarrier.arrive.expect_tx.shared::cta.b64 s, [%0], 128; }" ::"r"(at(m)) : "memory");
  asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2}], [%3];" ::"r"(at(to)),
               "l"(map), "r"(from), "r"(at(m))
               : "memory");
  asm volatile(
      "{ .reg .pred p; again%=: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra again%=; }" ::"r"(at(m)), "r"(parity)
      : "memory");
}
__device__ __forceinline__ void address(void* map, const int* tensor) {
  asm volatile("tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%0], %1;" ::"r"(at(map)), "l"(tensor) : "memory");
}
// A map of 1024 words, made of nothing by one thread.
__device__ __forceinline__ void make(unsigned long long* map, const int* tensor) {
  for (int i = 0; i < 16; i++) map[i] = 0;
  address(map, tensor);
  asm volatile("tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [%0], 3;" ::"r"(at(map)) : "memory");
  asm volatile("tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%0], 0, %1;" ::"r"(at(map)), "r"(1024) : "memory");
  asm volatile("tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%0], 0, %1;" ::"r"(at(map)), "r"(32) : "memory");
}
// A warp puts it where copies find it.
__device__ __forceinline__ void put(void* to, const void* from) {
  asm volatile("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], 128;" ::"l"(to),
               "r"(at(from))
               : "memory");
}
__device__ __forceinline__ void release() { asm volatile("fence.proxy.tensormap::generic.release.gpu;" ::: "memory"); }
__device__ __forceinline__ void acquire(const void* map) {
  asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map) : "memory");
}
__device__ __forceinline__ void set(int* flag) { asm volatile("st.relaxed.gpu.global.u32 [%0], 1;" ::"l"(flag) : "memory"); }
__device__ __forceinline__ void await(const int* flag) {
  asm volatile("{ .reg .pred p; .reg .b32 r; again%=: ld.relaxed.gpu.global.u32 r, [%0]; setp.eq.u32 p, r, 0; @p bra again%=; }" ::"l"(flag)
               : "memory");
}
#define SHARED                                                       \
  __shared__ alignas(128) int s[32];                                 \
  __shared__ alignas(128) unsigned long long map[16];                \
  __shared__ unsigned long long m;                                   \
  int t = threadIdx.x;                                               \
  (void)map;                                                         \
  if (t == 0) init(&m);                                              \
  __syncthreads();

// As grouped products do: each warp of the block's own maps, changed for each group.
//@ clean block 32
extern "C" __global__ void changed_again_and_again(int* a, int* b) {
  SHARED
  if (t == 0) make(map, a);
  for (int group = 0; group < 4; group++) {
    if (t == 0) address(map, a + 32 * group);
    __syncwarp();
    put(b, map);
    acquire(b);
    if (t == 0) load(s, b, 32, &m, group & 1);
    __syncwarp();
  }
  a[2048 + t] = s[t];
}

//@ race block 32 missing-proxy-fence
extern "C" __global__ void without_the_fence(int* a, int* b) {
  SHARED
  if (t == 0) make(map, a);
  __syncwarp();
  put(b, map);
  __threadfence();
  if (t == 0) load(s, b, 32, &m, 0);
}

//@ race block 32 missing-proxy-fence
extern "C" __global__ void the_fence_of_another_proxy(int* a, int* b) {
  SHARED
  if (t == 0) make(map, a);
  __syncwarp();
  put(b, map);
  asm volatile("fence.proxy.async;" ::: "memory");
  if (t == 0) load(s, b, 32, &m, 0);
}

//@ race block 32 missing-proxy-fence
extern "C" __global__ void the_fence_of_another_map(int* a, int* b) {
  SHARED
  if (t == 0) make(map, a);
  __syncwarp();
  put(b, map);
  put(b + 32, map);
  acquire(b + 32);
  if (t == 0) load(s, b, 32, &m, 0);
}

//@ race block 32 missing-proxy-fence
extern "C" __global__ void changed_behind_the_fence(int* a, int* b) {
  SHARED
  if (t == 0) make(map, a);
  __syncwarp();
  put(b, map);
  acquire(b);
  if (t == 0) load(s, b, 32, &m, 0);
  __syncwarp();
  put(b, map);
  if (t == 0) load(s, b, 64, &m, 1);
}

//@ clean block 32
extern "C" __global__ void replaced_in_place(int* a, int* b) {
  SHARED
  if (t == 0) make(map, a);
  __syncwarp();
  put(b, map);
  if (t == 0) {
    asm volatile("tensormap.replace.tile.global_address.global.b1024.b64 [%0], %1;" ::"l"(b), "l"(a + 32) : "memory");
    release();
    acquire(b);
    load(s, b, 32, &m, 0);
  }
}

//@ race block 32 missing-proxy-fence
extern "C" __global__ void replaced_in_place_without_the_fence(int* a, int* b) {
  SHARED
  if (t == 0) make(map, a);
  __syncwarp();
  put(b, map);
  acquire(b);
  if (t == 0) {
    asm volatile("tensormap.replace.tile.global_address.global.b1024.b64 [%0], %1;" ::"l"(b), "l"(a + 32) : "memory");
    release();
    load(s, b, 32, &m, 0);
  }
}

// One fence does for the block, for all that it is ordered with.
//@ clean block 64
extern "C" __global__ void a_warp_fences_for_another(int* a, int* b) {
  SHARED
  if (t == 0) make(map, a);
  __syncthreads();
  if (t < 32) { put(b, map); acquire(b); }
  __syncthreads();
  if (t == 32) load(s, b, 32, &m, 0);
}

//@ clean grid 2 block 32
extern "C" __global__ void handed_to_a_block(int* a, int* b) {
  SHARED
  if (blockIdx.x == 0) {
    if (t == 0) make(map, a);
    __syncwarp();
    put(b, map);
    __syncwarp();
    if (t == 0) { __threadfence(); set(b + 64); }
  } else if (t == 0) {
    await(b + 64);
    __threadfence();
    acquire(b);
    load(s, b, 32, &m, 0);
  }
}

// The fences of the proxy order threads, too.
//@ clean grid 2 block 32
extern "C" __global__ void handed_over_by_the_fences_alone(int* a, int* b) {
  SHARED
  if (blockIdx.x == 0) {
    if (t == 0) { make(map, a); for (int i = 0; i < 16; i++) ((unsigned long long*)b)[i] = map[i]; release(); set(b + 64); }
  } else if (t == 0) {
    await(b + 64);
    acquire(b);
    load(s, b, 32, &m, 0);
  }
}

//@ race grid 2 block 32 missing-proxy-fence
extern "C" __global__ void the_block_that_wrote_fences(int* a, int* b) {
  SHARED
  if (blockIdx.x == 0) {
    if (t == 0) make(map, a);
    __syncwarp();
    put(b, map);
    acquire(b);
    __syncwarp();
    if (t == 0) { __threadfence(); set(b + 64); }
  } else if (t == 0) {
    await(b + 64);
    __threadfence();
    load(s, b, 32, &m, 0);
  }
}

//@ race grid 2 block 32 missing-proxy-fence
extern "C" __global__ void fenced_before_it_was_handed_over(int* a, int* b) {
  SHARED
  if (blockIdx.x == 0) {
    if (t == 0) make(map, a);
    __syncwarp();
    put(b, map);
    __syncwarp();
    if (t == 0) { __threadfence(); set(b + 64); }
  } else if (t == 0) {
    acquire(b);
    await(b + 64);
    __threadfence();
    load(s, b, 32, &m, 0);
  }
}
