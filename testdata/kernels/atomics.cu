// Atomic operations of every kind, in global and in shared memory. The results
// that are kept do not depend on the order of the threads.

#include <cuda_fp16.h>

extern "C" __global__ void atomics_int(const int *x, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    int v = x[i];
    atomicAdd(&out[0], v);
    atomicSub(&out[1], v);
    atomicMin(&out[2], v);
    atomicMax(&out[3], v);
    atomicMin((unsigned *)&out[4], (unsigned)v);
    atomicMax((unsigned *)&out[5], (unsigned)v);
    atomicAnd(&out[6], v);
    atomicOr(&out[7], v);
    atomicXor(&out[8], v);
    atomicInc((unsigned *)&out[9], 9u);
    atomicDec((unsigned *)&out[10], 9u);
    if (i == 7)
        atomicExch(&out[11], v);
    atomicCAS(&out[12], 0, 0x1234);
    atomicAdd_block(&out[13], 1);
    atomicAdd_system(&out[14], 2);
}

extern "C" __global__ void atomics_wide(const long long *x, unsigned long long *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    long long v = x[i];
    atomicAdd(&out[0], (unsigned long long)v);
    atomicMin((long long *)&out[1], v);
    atomicMax(&out[2], (unsigned long long)v);
    atomicAnd(&out[3], (unsigned long long)v);
    atomicOr(&out[4], (unsigned long long)v);
    atomicXor(&out[5], (unsigned long long)v);
    if (i == 3)
        atomicExch(&out[6], (unsigned long long)v);
    atomicCAS(&out[7], 0ull, 0x123456789abcull);
}

// Small integers as floats: their sums are exact in any order.
extern "C" __global__ void atomics_float(const float *x, float *f32, double *f64, __half2 *f16x2, __half *f16, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    atomicAdd(f32, x[i]);
    atomicAdd(f64, (double)x[i]);
    atomicAdd(f16x2, __floats2half2_rn(x[i], -x[i]));
    atomicAdd(f16, __float2half(x[i]));
}

// Maximum of floats of any sign by compare and swap, first in shared memory.
extern "C" __global__ void atomic_max_float(const float *x, float *out, int n)
{
    __shared__ int most;
    if (threadIdx.x == 0)
        most = __float_as_int(-3.0e38f);
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int seen = most;
        while (__int_as_float(seen) < x[i]) {
            int before = atomicCAS(&most, seen, __float_as_int(x[i]));
            if (before == seen)
                break;
            seen = before;
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        int *target = (int *)out;
        int seen = *(volatile int *)target;
        while (__int_as_float(seen) < __int_as_float(most)) {
            int before = atomicCAS(target, seen, most);
            if (before == seen)
                break;
            seen = before;
        }
    }
}
