// A producer warp and a consumer warp that meet at named barriers written in
// inline PTX, and a vote over a barrier.

__device__ void arrive(int id, int threads)
{
    asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

__device__ void wait(int id, int threads)
{
    asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// 64 threads: warp 0 fills a double buffer, warp 1 drains it.
extern "C" __global__ void pipeline(const int *in, int *out, int rounds)
{
    __shared__ int buffer[2][32];
    int lane = threadIdx.x & 31;
    bool producer = threadIdx.x < 32;
    for (int r = 0; r < rounds; r++) {
        int slot = r & 1;
        int full = 1 + slot, empty = 3 + slot;
        if (producer) {
            if (r >= 2)
                wait(empty, 64);
            buffer[slot][lane] = in[r * 32 + lane] * 3;
            __threadfence_block();
            arrive(full, 64);
        } else {
            wait(full, 64);
            out[r * 32 + (31 - lane)] = buffer[slot][lane] + 1;
            if (r + 2 < rounds)
                arrive(empty, 64);
        }
    }
}

extern "C" __global__ void barrier_votes(const int *x, int *out)
{
    int v = x[blockIdx.x * blockDim.x + threadIdx.x];
    int count = __syncthreads_count(v > 0);
    int all = __syncthreads_and(v > -100);
    int any = __syncthreads_or(v == 42);
    if (threadIdx.x == 0) {
        out[3 * blockIdx.x + 0] = count;
        out[3 * blockIdx.x + 1] = all;
        out[3 * blockIdx.x + 2] = any;
    }
}
