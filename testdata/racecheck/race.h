// Strong accesses, fences and barriers as PTX has them, for the kernels here.
#pragma once

#define LOAD(name, text)                                                                     \
  __device__ __forceinline__ int name(const int* p) {                                        \
    int v;                                                                                   \
    asm volatile(text " %0, [%1];" : "=r"(v) : "l"(p) : "memory");                           \
    return v;                                                                                \
  }
#define STORE(name, text)                                                                    \
  __device__ __forceinline__ void name(int* p, int v) {                                      \
    asm volatile(text " [%0], %1;" ::"l"(p), "r"(v) : "memory");                             \
  }

LOAD(load_acquire, "ld.acquire.gpu.s32")
LOAD(load_acquire_cta, "ld.acquire.cta.s32")
LOAD(load_acquire_sys, "ld.acquire.sys.s32")
LOAD(load_relaxed, "ld.relaxed.gpu.s32")
LOAD(load_relaxed_cta, "ld.relaxed.cta.s32")
STORE(store_release, "st.release.gpu.s32")
STORE(store_release_cta, "st.release.cta.s32")
STORE(store_release_sys, "st.release.sys.s32")
STORE(store_relaxed, "st.relaxed.gpu.s32")

__device__ __forceinline__ int cas_acquire(int* p, int expected, int v) {
  int old;
  asm volatile("atom.acquire.gpu.cas.b32 %0, [%1], %2, %3;"
               : "=r"(old) : "l"(p), "r"(expected), "r"(v) : "memory");
  return old;
}
__device__ __forceinline__ int add_relaxed(int* p, int v) {
  int old;
  asm volatile("atom.relaxed.gpu.add.s32 %0, [%1], %2;" : "=r"(old) : "l"(p), "r"(v) : "memory");
  return old;
}
__device__ __forceinline__ int add_acq_rel(int* p, int v) {
  int old;
  asm volatile("atom.acq_rel.gpu.add.s32 %0, [%1], %2;" : "=r"(old) : "l"(p), "r"(v) : "memory");
  return old;
}
__device__ __forceinline__ void bar_sync(int id, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
__device__ __forceinline__ void bar_arrive(int id, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}
__device__ __forceinline__ void fence_acq_rel_gpu() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }
__device__ __forceinline__ void fence_acq_rel_cta() { asm volatile("fence.acq_rel.cta;" ::: "memory"); }

// The accesses of the kernels are kept as they are written.
#define KEEP() asm volatile("" ::: "memory")
