// Least-significant-digit radix sort of 32-bit keys, four bits a pass. Launches
// of 256 threads, one key a thread: counts by block and digit, one block scans
// them, keys move to their places. Stable, so the passes compose.

#define BLOCK 256
#define DIGITS 16

extern "C" __global__ void radix_count(const unsigned *keys, unsigned *counts, int n, int shift)
{
    __shared__ unsigned digits[DIGITS];
    if (threadIdx.x < DIGITS)
        digits[threadIdx.x] = 0;
    __syncthreads();
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i < n)
        atomicAdd(&digits[(keys[i] >> shift) & (DIGITS - 1)], 1u);
    __syncthreads();
    if (threadIdx.x < DIGITS)
        counts[threadIdx.x * gridDim.x + blockIdx.x] = digits[threadIdx.x];
}

// Exclusive scan in place by one warp; total is DIGITS times the blocks.
extern "C" __global__ void radix_scan(unsigned *counts, int total)
{
    unsigned carry = 0;
    int lane = threadIdx.x;
    for (int base = 0; base < total; base += 32) {
        unsigned v = base + lane < total ? counts[base + lane] : 0;
        unsigned sum = v;
#pragma unroll
        for (int d = 1; d < 32; d *= 2) {
            unsigned up = __shfl_up_sync(0xffffffffu, sum, d);
            if (lane >= d)
                sum += up;
        }
        if (base + lane < total)
            counts[base + lane] = carry + sum - v;
        carry += __shfl_sync(0xffffffffu, sum, 31);
    }
}

extern "C" __global__ void radix_scatter(const unsigned *keys, unsigned *sorted, const unsigned *offsets, int n, int shift)
{
    __shared__ unsigned char digit_of[BLOCK];
    int i = blockIdx.x * BLOCK + threadIdx.x;
    unsigned key = i < n ? keys[i] : 0;
    unsigned digit = (key >> shift) & (DIGITS - 1);
    digit_of[threadIdx.x] = i < n ? digit : 0xff;
    __syncthreads();
    if (i >= n)
        return;
    unsigned rank = 0;
    for (int t = 0; t < threadIdx.x; t++)
        rank += digit_of[t] == digit;
    sorted[offsets[digit * gridDim.x + blockIdx.x] + rank] = key;
}
