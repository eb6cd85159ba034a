// Sums of a float array in three manners: a tree in shared memory, warp
// shuffles, and one launch whose last block adds up the partial sums.

extern "C" __global__ void reduce_tree(const float *x, float *partial, int n)
{
    extern __shared__ float s[];
    int t = threadIdx.x;
    int i = blockIdx.x * blockDim.x * 2 + t;
    float v = i < n ? x[i] : 0.0f;
    if (i + blockDim.x < n)
        v += x[i + blockDim.x];
    s[t] = v;
    __syncthreads();
    for (int d = blockDim.x / 2; d > 0; d >>= 1) {
        if (t < d)
            s[t] += s[t + d];
        __syncthreads();
    }
    if (t == 0)
        partial[blockIdx.x] = s[0];
}

__device__ float warp_sum(float v)
{
    for (int d = 16; d > 0; d >>= 1)
        v += __shfl_down_sync(0xffffffffu, v, d);
    return v;
}

extern "C" __global__ void reduce_shuffle(const float *x, float *partial, int n)
{
    __shared__ float warps[32];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = warp_sum(i < n ? x[i] : 0.0f);
    if (threadIdx.x % 32 == 0)
        warps[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x < 32) {
        v = warp_sum(threadIdx.x < blockDim.x / 32 ? warps[threadIdx.x] : 0.0f);
        if (threadIdx.x == 0)
            partial[blockIdx.x] = v;
    }
}

__device__ unsigned blocks_done;

// Integer sums are exact in any order, so the last block's result does not
// depend on the schedule. Launch with 256 threads.
extern "C" __global__ void reduce_last_block(const int *x, volatile long long *partial, long long *total, int n)
{
    __shared__ long long s[256];
    __shared__ bool last;
    int t = threadIdx.x;
    long long v = 0;
    for (int i = blockIdx.x * 256 + t; i < n; i += gridDim.x * 256)
        v += x[i];
    s[t] = v;
    __syncthreads();
    for (int d = 128; d > 0; d >>= 1) {
        if (t < d)
            s[t] += s[t + d];
        __syncthreads();
    }
    if (t == 0) {
        partial[blockIdx.x] = s[0];
        __threadfence();
        last = atomicInc(&blocks_done, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && t == 0) {
        __threadfence();
        long long sum = 0;
        for (int b = 0; b < gridDim.x; b++)
            sum += partial[b];
        *total = sum;
    }
}
