// Bit tricks: counts, reversals, byte permutes, funnel shifts, dot products of
// bytes, and the packed video operations.

extern "C" __global__ void bit_ops(const unsigned *a, const unsigned *b, unsigned *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned x = a[i], y = b[i];
    unsigned *o = out + 16 * i;
    o[0] = __popc(x);
    o[1] = __clz(x);
    o[2] = __ffs(x);
    o[3] = __brev(x);
    o[4] = __byte_perm(x, y, y & 0x7777);
    o[5] = __funnelshift_l(x, y, y);
    o[6] = __funnelshift_rc(x, y, y & 63);
    o[7] = __umulhi(x, y);
    o[8] = __mulhi((int)x, (int)y);
    o[9] = __sad((int)x, (int)y, 5u);
    o[10] = __dp4a((int)x, (int)y, 7);
    o[11] = __uhadd(x, y);
    o[12] = (x & y) ^ (~x | (y >> 3));
    o[13] = x << (y & 31) | x >> (32 - (y & 31));
    o[14] = __vabsdiffu4(x, y);
    o[15] = __vadd4(x, y);
}

extern "C" __global__ void bit_ops_wide(const unsigned long long *a, const unsigned long long *b,
                                        unsigned long long *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned long long x = a[i], y = b[i];
    unsigned long long *o = out + 8 * i;
    o[0] = __popcll(x);
    o[1] = __clzll(x);
    o[2] = __ffsll(x);
    o[3] = __brevll(x);
    o[4] = __umul64hi(x, y);
    o[5] = __mul64hi((long long)x, (long long)y);
    o[6] = y ? x / y : 0;
    o[7] = y ? (unsigned long long)((long long)x % (long long)y) : 0;
}

// Morton codes of three ten-bit coordinates and back.
extern "C" __global__ void morton(const unsigned *xyz, unsigned *code, unsigned *back, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned c = 0;
    for (int k = 0; k < 3; k++) {
        unsigned v = xyz[3 * i + k] & 0x3ff;
        v = (v | v << 16) & 0x030000ff;
        v = (v | v << 8) & 0x0300f00f;
        v = (v | v << 4) & 0x030c30c3;
        v = (v | v << 2) & 0x09249249;
        c |= v << k;
    }
    code[i] = c;
    for (int k = 0; k < 3; k++) {
        unsigned v = c >> k & 0x09249249;
        v = (v | v >> 2) & 0x030c30c3;
        v = (v | v >> 4) & 0x0300f00f;
        v = (v | v >> 8) & 0x030000ff;
        v = (v | v >> 16) & 0x3ff;
        back[3 * i + k] = v;
    }
}
