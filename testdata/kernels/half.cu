// Arithmetic in __half, __half2 and __nv_bfloat16.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void half_axpy(__half a, const __half *x, __half *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = __hfma(a, x[i], y[i]);
}

extern "C" __global__ void half2_ops(const __half2 *a, const __half2 *b, __half2 *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    __half2 x = a[i], y = b[i];
    out[8 * i + 0] = __hadd2(x, y);
    out[8 * i + 1] = __hsub2(x, y);
    out[8 * i + 2] = __hmul2(x, y);
    out[8 * i + 3] = __hmin2(x, y);
    out[8 * i + 4] = __hmax2(x, y);
    out[8 * i + 5] = __hadd2_sat(x, y);
    out[8 * i + 6] = __hfma2_relu(x, y, y);
    out[8 * i + 7] = __hneg2(__habs2(x));
}

extern "C" __global__ void bf16_ops(const __nv_bfloat16 *a, const __nv_bfloat16 *b, __nv_bfloat16 *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    __nv_bfloat16 x = a[i], y = b[i];
    out[5 * i + 0] = __hadd(x, y);
    out[5 * i + 1] = __hsub(x, y);
    out[5 * i + 2] = __hmul(x, y);
    out[5 * i + 3] = __hfma(x, y, x);
    out[5 * i + 4] = __hmax(x, y);
}

// Dot products of rows of halves with an f32 accumulator, and narrowing back.
extern "C" __global__ void half_dot(const __half *a, const __half *b, __half *out, int length, int rows)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    float sum = 0.0f;
    for (int k = 0; k < length; k++)
        sum += __half2float(a[row * length + k]) * __half2float(b[row * length + k]);
    out[row] = __float2half_rn(sum);
}

extern "C" __global__ void half_convert(const float *x, unsigned short *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    unsigned short *o = out + 6 * i;
    o[0] = __half_as_ushort(__float2half_rn(x[i]));
    o[1] = __half_as_ushort(__float2half_rz(x[i]));
    o[2] = __half_as_ushort(__float2half_ru(x[i]));
    o[3] = __half_as_ushort(__float2half_rd(x[i]));
    o[4] = __bfloat16_as_ushort(__float2bfloat16_rn(x[i]));
    o[5] = (unsigned short)__half2int_rn(__float2half_rn(x[i]));
}
