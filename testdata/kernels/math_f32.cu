// The f32 library: accurate functions, fast intrinsics, and directed rounding.

extern "C" __global__ void math_f32(const float *x, const float *y, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float a = x[i], b = y[i];
    float *o = out + 12 * i;
    o[0] = sinf(a);
    o[1] = cosf(a);
    o[2] = expf(a);
    o[3] = logf(fabsf(a));
    o[4] = powf(fabsf(a), b);
    o[5] = atan2f(a, b);
    o[6] = tanf(a);
    o[7] = erff(a);
    o[8] = log1pf(fabsf(a));
    o[9] = hypotf(a, b);
    o[10] = fmodf(a, b);
    o[11] = tanhf(a);
}

extern "C" __global__ void math_f32_fast(const float *x, const float *y, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float a = x[i], b = y[i];
    float *o = out + 8 * i;
    o[0] = __sinf(a);
    o[1] = __cosf(a);
    o[2] = __expf(a);
    o[3] = __logf(fabsf(a));
    o[4] = __powf(fabsf(a), b);
    o[5] = __fdividef(a, b);
    o[6] = rsqrtf(fabsf(a));
    o[7] = __tanf(a);
}

extern "C" __global__ void math_f32_exact(const float *x, const float *y, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float a = x[i], b = y[i];
    float *o = out + 14 * i;
    o[0] = __fadd_rn(a, b);
    o[1] = __fadd_rz(a, b);
    o[2] = __fadd_ru(a, b);
    o[3] = __fadd_rd(a, b);
    o[4] = __fmul_rz(a, b);
    o[5] = __fmul_ru(a, b);
    o[6] = __fmaf_rd(a, b, a);
    o[7] = __fdiv_rn(a, b);
    o[8] = __fdiv_rz(a, b);
    o[9] = __fsqrt_rn(fabsf(a));
    o[10] = __frcp_rn(b);
    o[11] = rintf(a);
    o[12] = truncf(b);
    o[13] = (float)__float2int_rd(a);
}
