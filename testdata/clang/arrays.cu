// Loops over arrays, a reduction over shared memory, atomics and shuffles, through clang's builtins.
#include "device.h"

extern "C" __global__ void axpy(double a, const double *x, double *y, long n)
{
    for (long i = (long)BLOCK * BLOCK_SIZE + THREAD; i < n; i += (long)GRID_SIZE * BLOCK_SIZE)
        y[i] += a * x[i];
}

__shared__ float scratch[256];

extern "C" __global__ void block_sums(const float *x, float *sums)
{
    unsigned t = THREAD;
    scratch[t] = x[BLOCK * 256 + t];
    BARRIER();
    for (unsigned d = 128; d; d >>= 1) {
        if (t < d)
            scratch[t] += scratch[t + d];
        BARRIER();
    }
    if (t == 0)
        sums[BLOCK] = scratch[0];
}

extern "C" __global__ void count_bits(const unsigned long long *x, unsigned *total, unsigned *highest, int n)
{
    int i = BLOCK * BLOCK_SIZE + THREAD;
    unsigned long long v = i < n ? x[i] : 0;
    unsigned bits = __builtin_popcountll(v);
    unsigned top = v ? 64 - __builtin_clzll(v) : 0;
    for (int d = 16; d; d >>= 1) {
        bits += __nvvm_shfl_sync_bfly_i32(-1, bits, d, 31);
        unsigned other = __nvvm_shfl_sync_bfly_i32(-1, top, d, 31);
        top = other > top ? other : top;
    }
    if (THREAD % 32 == 0) {
        __nvvm_atom_add_gen_i((int *)total, bits);
        __nvvm_atom_max_gen_ui(highest, top);
    }
}
