#include <cuComplex.h>

#include "common.h"
__global__ void fft(float2* d, int n, int lg, float sign) {
    extern __shared__ float2 s[];
    for (int i = threadIdx.x; i < n; i += blockDim.x) s[__brev(i) >> (32 - lg)] = d[blockIdx.x * n + i];
    __syncthreads();
    for (int len = 2; len <= n; len <<= 1) {
        for (int k = threadIdx.x; k < n / 2; k += blockDim.x) {
            int h = len / 2, j = k % h, b = k / h * len;
            float sn, cs;
            sincosf(sign * 6.283185307f * j / len, &sn, &cs);
            float2 u = s[b + j], v = s[b + j + h];
            float2 t = make_float2(v.x * cs - v.y * sn, v.x * sn + v.y * cs);
            s[b + j] = make_float2(u.x + t.x, u.y + t.y);
            s[b + j + h] = make_float2(u.x - t.x, u.y - t.y);
        }
        __syncthreads();
    }
    for (int i = threadIdx.x; i < n; i += blockDim.x) d[blockIdx.x * n + i] = s[i];
}
__global__ void fftd(double2* d, int n, int lg) {
    extern __shared__ double2 t[];
    for (int i = threadIdx.x; i < n; i += blockDim.x) t[__brev(i) >> (32 - lg)] = d[i];
    __syncthreads();
    for (int len = 2; len <= n; len <<= 1) {
        for (int k = threadIdx.x; k < n / 2; k += blockDim.x) {
            int h = len / 2, j = k % h, b = k / h * len;
            double sn, cs;
            sincospi(-2.0 * j / len, &sn, &cs);
            cuDoubleComplex u = t[b + j], v = cuCmul(t[b + j + h], make_cuDoubleComplex(cs, sn));
            t[b + j] = cuCadd(u, v);
            t[b + j + h] = cuCsub(u, v);
        }
        __syncthreads();
    }
    for (int i = threadIdx.x; i < n; i += blockDim.x) d[i] = t[i];
}
__global__ void cx(const float2* a, float2* o, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n - 1) return;
    cuFloatComplex x = a[i], y = a[i + 1];
    cuFloatComplex q = cuCdivf(cuCmulf(x, y), cuCaddf(x, cuConjf(y)));
    o[i] = make_cuFloatComplex(cuCabsf(q), cuCimagf(q) + cuCrealf(x));
}
int main() {
    Lcg r(2);
    int n = 512;
    std::vector<float2> v(n * 4);
    for (auto& x : v) x = {r.unit() - .5f, r.unit() - .5f};
    Buf<float2> d(v), o(n * 4);
    fft<<<4, 128, n * 8>>>(d, n, 9, -1);
    show("fwd", d);
    fft<<<4, 128, n * 8>>>(d, n, 9, 1);
    show("inv", d);
    cx<<<8, 256>>>(d, o, n * 4);
    show("cx", o);
    std::vector<double2> w(256);
    for (auto& x : w) x = {(double)r.unit(), (double)r.unit()};
    Buf<double2> e(w);
    fftd<<<1, 64, 256 * 16>>>(e, 256, 8);
    show("fftd", e);
    return 0;
}
