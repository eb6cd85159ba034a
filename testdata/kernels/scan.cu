// Prefix sums of unsigned integers: Hillis and Steele in shared memory,
// Blelloch's work-efficient tree, and a device-wide scan in three launches.

#define BLOCK 256

// Inclusive, one block of at most 1024 threads, dynamic shared memory 2 * n words.
extern "C" __global__ void scan_hillis_steele(const unsigned *in, unsigned *out, int n)
{
    extern __shared__ unsigned buf[];
    int t = threadIdx.x;
    int from = 0, to = n;
    if (t < n)
        buf[t] = in[t];
    __syncthreads();
    for (int d = 1; d < n; d *= 2) {
        if (t < n)
            buf[to + t] = t >= d ? buf[from + t] + buf[from + t - d] : buf[from + t];
        __syncthreads();
        int swap = from;
        from = to;
        to = swap;
    }
    if (t < n)
        out[t] = buf[from + t];
}

// Exclusive, 2 * BLOCK elements a block; sums[] receives each block's total.
extern "C" __global__ void scan_blelloch(const unsigned *in, unsigned *out, unsigned *sums, int n)
{
    __shared__ unsigned s[2 * BLOCK];
    int t = threadIdx.x;
    int base = blockIdx.x * 2 * BLOCK;
    s[2 * t] = base + 2 * t < n ? in[base + 2 * t] : 0;
    s[2 * t + 1] = base + 2 * t + 1 < n ? in[base + 2 * t + 1] : 0;

    int offset = 1;
    for (int d = BLOCK; d > 0; d >>= 1) {
        __syncthreads();
        if (t < d)
            s[offset * (2 * t + 2) - 1] += s[offset * (2 * t + 1) - 1];
        offset *= 2;
    }
    if (t == 0) {
        sums[blockIdx.x] = s[2 * BLOCK - 1];
        s[2 * BLOCK - 1] = 0;
    }
    for (int d = 1; d <= BLOCK; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (t < d) {
            unsigned left = s[offset * (2 * t + 1) - 1];
            s[offset * (2 * t + 1) - 1] = s[offset * (2 * t + 2) - 1];
            s[offset * (2 * t + 2) - 1] += left;
        }
    }
    __syncthreads();
    if (base + 2 * t < n)
        out[base + 2 * t] = s[2 * t];
    if (base + 2 * t + 1 < n)
        out[base + 2 * t + 1] = s[2 * t + 1];
}

extern "C" __global__ void scan_add_offsets(unsigned *out, const unsigned *offsets, int n)
{
    int i = blockIdx.x * 2 * BLOCK + threadIdx.x;
    unsigned offset = offsets[blockIdx.x];
    if (i < n)
        out[i] += offset;
    if (i + BLOCK < n)
        out[i + BLOCK] += offset;
}

// Inclusive over each warp's 32 elements with shuffles.
extern "C" __global__ void scan_warp(const int *in, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int lane = threadIdx.x & 31;
    int v = i < n ? in[i] : 0;
    for (int d = 1; d < 32; d *= 2) {
        int up = __shfl_up_sync(0xffffffffu, v, d);
        if (lane >= d)
            v += up;
    }
    if (i < n)
        out[i] = v;
}
