// Constant memory: initialised tables, one filled by the host, pointers to
// constants, and file-scope device variables with initialisers.

struct Entry {
    char tag;
    short weight;
    int scale;
    double bias;
};

__constant__ Entry entries[4] = {{'a', 1, 10, 0.5}, {'b', -2, 20, 1.5}, {'c', 3, -30, -2.5}, {'d', -4, 40, 3.25}};
__constant__ unsigned char permutation[16] = {7, 2, 14, 0, 9, 5, 11, 1, 15, 3, 8, 12, 6, 10, 4, 13};
__constant__ int host_table[64];
__device__ int counters[4] = {100, 200, 300, 400};
__device__ const int *counter_pointer = counters + 1;
__device__ char greeting[] = "constant";

extern "C" __global__ void table_lookup(const int *index, double *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    const Entry &e = entries[index[i] & 3];
    out[i] = e.tag + e.weight * 100.0 + e.scale + e.bias + permutation[index[i] & 15];
}

extern "C" __global__ void host_lookup(const int *index, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = host_table[index[i] & 63] + counter_pointer[0] + greeting[i & 7];
}

__device__ __noinline__ int sum_through_pointer(const int *p, int n)
{
    int sum = 0;
    for (int k = 0; k < n; k++)
        sum += p[k];
    return sum;
}

// One generic pointer into constant, global, shared or local memory.
extern "C" __global__ void generic_sums(const int *global, int *out)
{
    __shared__ int shared[8];
    int local[8];
    for (int k = 0; k < 8; k++)
        local[k] = threadIdx.x * k + global[k];
    if (threadIdx.x < 8)
        shared[threadIdx.x] = global[threadIdx.x] * 2;
    __syncthreads();
    const int *p;
    switch (threadIdx.x & 3) {
    case 0: p = global; break;
    case 1: p = shared; break;
    case 2: p = local; break;
    default: p = host_table; break;
    }
    out[threadIdx.x] = sum_through_pointer(p, 8);
}
