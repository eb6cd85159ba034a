// Branches, predicates, loops, calls, and what warps do together.
#include <cstdint>
#include <cooperative_groups.h>

#define KERNEL extern "C" __global__ void
#define ID const int i = blockIdx.x * blockDim.x + threadIdx.x

// A loop of another length for each lane.
KERNEL lane_loops(const unsigned *in, unsigned *out, int n)
{
    ID;
    if (i >= n) return;
    unsigned v = in[i], steps = 0;
    while (v != 1) {
        v = v & 1 ? 3 * v + 1 : v / 2;
        steps++;
    }
    out[i] = steps;
}

// Two sides with work that no predicate can hold.
KERNEL two_sides(const float *in, float *out, int n)
{
    ID;
    if (i >= n) return;
    float v = in[i];
    if (i & 1) {
#pragma unroll 1
        for (int k = 0; k < 10; k++) v = v * 1.5f + in[k];
        out[2 * i] = v;
    } else {
#pragma unroll 1
        for (int k = 0; k < 20; k++) v = v * 0.5f - in[k + 1];
        out[2 * i + 1] = v;
    }
}

KERNEL by_warp(const float *in, float *out, int n)
{
    ID;
    float v = in[i % n];
    if ((i / 32) & 1) v = sqrtf(v) + in[0];
    else v = v * v - in[1];
    out[i] = v;
}

// Short sides: selects and predicates.
KERNEL predicated(const int *in, int *out, int n)
{
    ID;
    if (i < n) {
        int v = in[i];
        if (v > 10) v -= 3;
        if (v & 1) out[i] = v;
        else out[i] = v + 1;
        if (v < 0) out[i + n] = v;
    }
}

KERNEL cases(const int *in, int *out, int n)
{
    ID;
    if (i >= n) return;
    int v = in[i], w = 0;
    switch (v & 7) {
    case 0: w = v * 3; break;
    case 1: w = v / 7; break;
    case 2: w = __popc(v) + in[0]; break;
    case 3: w = v ^ in[1]; break;
    case 4: w = __clz(v); break;
    case 5: w = v % 13; break;
    case 6: w = in[v & 15]; break;
    default: w = -v;
    }
    out[i] = w;
}

KERNEL nested(const int *in, int *out, int n)
{
    ID;
    if (i >= n) return;
    int v = in[i], sum = 0;
    for (int a = 0; a < (v & 3); a++) {
        if (v & 4) {
            for (int b = 0; b < (v >> 3 & 3); b++) sum += in[(a + b) % n];
        } else {
            sum -= in[a % n];
        }
    }
    out[i] = sum;
}

__device__ __noinline__ float helper(float x, int times)
{
#pragma unroll 1
    for (int k = 0; k < times; k++) x = x * x + 0.25f;
    return x;
}

KERNEL calls(const float *in, float *out, int n)
{
    ID;
    if (i >= n) return;
    float v = helper(in[i], i & 7);
    if (i & 16) v = helper(v, 3);
    out[i] = v;
}

__device__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

KERNEL recursion(int *out)
{
    ID;
    out[i] = fib(i & 7);
}

KERNEL early_exit(const int *in, int *out, int n)
{
    ID;
    if (i >= n) return;
    for (int k = 0; k < 16; k++) {
        if (in[(i + k) % n] == 7) {
            out[i] = k;
            return;
        }
    }
    out[i] = -1;
}

// A loop that ptxas unrolls, with a remainder.
KERNEL unrolled(const float *in, float *out, int n, int m)
{
    ID;
    if (i >= n) return;
    float sum = 0;
    for (int k = 0; k < m; k++) sum += in[k * n + i];
    out[i] = sum;
}

KERNEL unrolled_8(const float *in, float *out, int n)
{
    ID;
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 8; k++) sum += in[k * n + i] * (float)k;
    out[i] = sum;
}

KERNEL shuffles(const int *in, int *out)
{
    ID;
    int v = in[i];
#pragma unroll
    for (int d = 16; d; d /= 2) v += __shfl_xor_sync(~0u, v, d);
    int w = __shfl_up_sync(~0u, v, 1) + __shfl_sync(~0u, i, v & 31);
    out[i] = v + w;
}

KERNEL votes(const int *in, int *out)
{
    ID;
    int v = in[i];
    unsigned b = __ballot_sync(~0u, v > 3);
    int w = __all_sync(~0u, v) + __any_sync(~0u, v == 2) + __popc(b);
    w += __reduce_add_sync(~0u, v) + __popc(__match_any_sync(~0u, v & 3));
    out[i] = w;
}

KERNEL barriers(int *out, int times)
{
    __shared__ int s[1024];
    s[threadIdx.x] = threadIdx.x;
    for (int k = 0; k < times; k++) {
        __syncthreads();
        int v = s[(threadIdx.x + 1) % blockDim.x];
        __syncthreads();
        s[threadIdx.x] = v;
    }
    if (__syncthreads_or(s[threadIdx.x] == 5)) out[blockIdx.x * blockDim.x + threadIdx.x] = s[threadIdx.x];
}

// ptxas lets one lane of a warp add for all.
KERNEL count_all(unsigned *counter) { atomicAdd(counter, 1u); }

KERNEL count_some(const int *in, unsigned *counter, int n)
{
    ID;
    if (i < n && in[i] > 2) atomicAdd(counter, 1u);
}

KERNEL ticket(unsigned *counter, unsigned *out)
{
    ID;
    out[i] = atomicAdd(counter, 1u);
}

KERNEL sum_int(const int *in, int *sum)
{
    ID;
    atomicAdd(sum, in[i]);
}

KERNEL max_int(const int *in, int *most)
{
    ID;
    atomicMax(most, in[i]);
}

KERNEL sum_float(const float *in, float *sum)
{
    ID;
    atomicAdd(sum, in[i]);
}

KERNEL sum_double(const double *in, double *sum)
{
    ID;
    atomicAdd(sum, in[i]);
}

KERNEL count_shared(const int *in, unsigned *out)
{
    __shared__ unsigned counter;
    if (threadIdx.x == 0) counter = 0;
    __syncthreads();
    ID;
    if (in[i] > 2) atomicAdd(&counter, 1u);
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = counter;
}

KERNEL sum_shared(const int *in, int *out)
{
    __shared__ int sum;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    ID;
    atomicAdd(&sum, in[i]);
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

KERNEL nothing() {}

KERNEL clocks(long long *out)
{
    ID;
    long long from = clock64();
    __threadfence();
    out[i] = clock64() - from > 0;
}

KERNEL asserted(const int *in, int *out)
{
    ID;
    int v = in[i];
    if (v > 1 << 20) __trap();
    out[i] = v;
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) cluster(int *out)
{
    __shared__ int s[32];
    auto c = cooperative_groups::this_cluster();
    s[threadIdx.x & 31] = c.block_rank();
    c.sync();
    int *other = c.map_shared_rank(s, c.block_rank() ^ 1);
    ID;
    out[i] = other[threadIdx.x & 31];
    c.sync();
}
