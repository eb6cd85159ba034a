// Warp-wide votes, matches, shuffles and reductions.

extern "C" __global__ void warp_votes(const int *x, unsigned *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int v = x[i];
    unsigned odd = __ballot_sync(0xffffffffu, v & 1);
    int all = __all_sync(0xffffffffu, v > 0);
    int any = __any_sync(0xffffffffu, v > 100);
    unsigned same = __match_any_sync(0xffffffffu, v);
    int equal;
    unsigned every = __match_all_sync(0xffffffffu, v / 1000, &equal);
    unsigned *o = out + 7 * i;
    o[0] = odd;
    o[1] = all;
    o[2] = any;
    o[3] = same;
    o[4] = every;
    o[5] = equal;
    if (v & 1)
        o[6] = __activemask();
    else
        o[6] = __activemask();
    __syncwarp();
}

extern "C" __global__ void warp_reduce_ops(const int *x, int *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int v = x[i];
    int *o = out + 8 * i;
    o[0] = __reduce_add_sync(0xffffffffu, v);
    o[1] = __reduce_min_sync(0xffffffffu, v);
    o[2] = __reduce_max_sync(0xffffffffu, v);
    o[3] = __reduce_min_sync(0xffffffffu, (unsigned)v);
    o[4] = __reduce_max_sync(0xffffffffu, (unsigned)v);
    o[5] = __reduce_and_sync(0xffffffffu, (unsigned)v);
    o[6] = __reduce_or_sync(0xffffffffu, (unsigned)v);
    o[7] = __reduce_xor_sync(0xffffffffu, (unsigned)v);
}

extern "C" __global__ void warp_shuffles(const int *x, const double *y, int *out, double *wide)
{
    int i = threadIdx.x;
    int v = x[i];
    out[4 * i + 0] = __shfl_sync(0xffffffffu, v, i * 7);
    out[4 * i + 1] = __shfl_up_sync(0xffffffffu, v, 3, 8);
    out[4 * i + 2] = __shfl_down_sync(0xffffffffu, v, 5, 16);
    out[4 * i + 3] = __shfl_xor_sync(0xffffffffu, v, 9);
    wide[i] = __shfl_sync(0xffffffffu, y[i], 31 - i);
}

// Half of the warp votes in one branch, half in the other.
extern "C" __global__ void warp_diverged(const int *x, unsigned *out)
{
    int i = threadIdx.x;
    int v = x[i];
    unsigned r;
    if (i % 2 == 0)
        r = __ballot_sync(0x55555555u, v > 0);
    else
        r = __shfl_sync(0xaaaaaaaau, v, (i + 2) % 32);
    out[i] = r;
}
