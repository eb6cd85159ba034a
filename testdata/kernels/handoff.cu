// Blocks that wait for other blocks: a chain of flags that passes a running
// total from block to block, and a barrier over the whole grid.

// Each block adds the sum of its elements to what its predecessor hands on.
extern "C" __global__ void chain_total(const int *x, volatile int *total, volatile int *flag, int n)
{
    __shared__ int sum;
    int b = blockIdx.x;
    if (threadIdx.x == 0)
        sum = 0;
    __syncthreads();
    int i = b * blockDim.x + threadIdx.x;
    if (i < n)
        atomicAdd(&sum, x[i]);
    __syncthreads();
    if (threadIdx.x == 0) {
        int before = 0;
        if (b > 0) {
            while (flag[b - 1] == 0)
                ;
            __threadfence();
            before = total[b - 1];
        }
        total[b] = before + sum;
        __threadfence();
        flag[b] = 1;
    }
}

// The same the other way round: block 0 waits for the last block, which a
// scheduler that finishes blocks in order never reaches.
extern "C" __global__ void chain_backwards(int *order, int *position, volatile int *flag)
{
    int b = blockIdx.x;
    if (threadIdx.x == 0) {
        if (b + 1 < gridDim.x)
            while (flag[b + 1] == 0)
                __nanosleep(100);
        __threadfence();
        order[atomicAdd(position, 1)] = b;
        __threadfence();
        flag[b] = 1;
    }
}

__device__ unsigned arrived;

__device__ void grid_barrier(unsigned generation)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(&arrived, 1u);
        while (*(volatile unsigned *)&arrived < generation * gridDim.x)
            ;
        __threadfence();
    }
    __syncthreads();
}

// Jacobi sweeps over a ring of integers; all blocks must be resident at once.
extern "C" __global__ void grid_sweeps(unsigned *a, unsigned *b, int n, int sweeps)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int s = 0; s < sweeps; s++) {
        if (i < n)
            b[i] = a[(i + n - 1) % n] + 2 * a[i] + a[(i + 1) % n];
        grid_barrier(s + 1);
        unsigned *t = a;
        a = b;
        b = t;
    }
}
