#include <cooperative_groups.h>

#include "common.h"
namespace cg = cooperative_groups;
template <class T>
struct Sh {
    __device__ static T* get() {
        extern __shared__ __align__(16) unsigned char m[];
        return (T*)m;
    }
};
template <class T>
__global__ void r0(const T* i, T* o, unsigned n) {
    T* s = Sh<T>::get();
    unsigned t = threadIdx.x, g = blockIdx.x * blockDim.x + t;
    s[t] = g < n ? i[g] : T(0);
    __syncthreads();
    for (unsigned k = 1; k < blockDim.x; k *= 2) {
        if (t % (2 * k) == 0) s[t] += s[t + k];
        __syncthreads();
    }
    if (t == 0) o[blockIdx.x] = s[0];
}
template <class T>
__global__ void r1(const T* i, T* o, unsigned n) {
    T* s = Sh<T>::get();
    unsigned t = threadIdx.x, g = blockIdx.x * blockDim.x + t;
    s[t] = g < n ? i[g] : T(0);
    __syncthreads();
    for (unsigned k = 1; k < blockDim.x; k *= 2) {
        unsigned x = 2 * k * t;
        if (x < blockDim.x) s[x] += s[x + k];
        __syncthreads();
    }
    if (t == 0) o[blockIdx.x] = s[0];
}
template <class T>
__global__ void r3(const T* i, T* o, unsigned n) {
    T* s = Sh<T>::get();
    unsigned t = threadIdx.x, g = blockIdx.x * blockDim.x * 2 + t;
    T a = g < n ? i[g] : T(0);
    if (g + blockDim.x < n) a += i[g + blockDim.x];
    s[t] = a;
    __syncthreads();
    for (unsigned k = blockDim.x / 2; k > 0; k >>= 1) {
        if (t < k) s[t] = a = a + s[t + k];
        __syncthreads();
    }
    if (t == 0) o[blockIdx.x] = a;
}
template <class T, unsigned B>
__global__ void r5(const T* i, T* o, unsigned n) {
    cg::thread_block cta = cg::this_thread_block();
    T* s = Sh<T>::get();
    unsigned t = threadIdx.x, g = blockIdx.x * B * 2 + t;
    T a = g < n ? i[g] : T(0);
    if (g + B < n) a += i[g + B];
    s[t] = a;
    cg::sync(cta);
    if (B >= 512 && t < 256) s[t] = a = a + s[t + 256];
    cg::sync(cta);
    if (B >= 256 && t < 128) s[t] = a = a + s[t + 128];
    cg::sync(cta);
    if (B >= 128 && t < 64) s[t] = a = a + s[t + 64];
    cg::sync(cta);
    cg::thread_block_tile<32> w = cg::tiled_partition<32>(cta);
    if (t < 32) {
        if (B >= 64) a += s[t + 32];
        for (int k = w.size() / 2; k > 0; k /= 2) a += w.shfl_down(a, k);
    }
    if (t == 0) o[blockIdx.x] = a;
}
template <class T>
__device__ T wr(unsigned m, T v) {
    for (int k = 16; k > 0; k /= 2) v += __shfl_down_sync(m, v, k);
    return v;
}
template <class T, unsigned B, bool P2>
__global__ void r7(const T* i, T* o, unsigned n) {
    T* s = Sh<T>::get();
    unsigned t = threadIdx.x;
    T a = 0;
    for (unsigned g = blockIdx.x * B + t; g < n; g += B * gridDim.x) a += i[g];
    unsigned sl = (B / 32) > 0 ? B / 32 : 1, m = 0xffffffffu;
    a = wr<T>(m, a);
    if (t % 32 == 0) s[t / 32] = a;
    __syncthreads();
    unsigned bm = __ballot_sync(m, t < sl);
    if (t < sl) {
        a = s[t];
        a = wr<T>(bm, a);
    }
    if (t == 0) o[blockIdx.x] = a;
}
__device__ unsigned done = 0;
__global__ void last(const float* g, volatile float* part, float* out, unsigned n) {
    __shared__ bool am;
    float a = 0;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) a += g[i];
    __shared__ float s[8];
    a = wr(~0u, a);
    if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = a;
    __syncthreads();
    if (threadIdx.x == 0) {
        a = 0;
        for (int k = 0; k < 8; k++) a += s[k];
        part[blockIdx.x] = a;
        __threadfence();
        unsigned v = atomicInc(&done, gridDim.x);
        am = v == gridDim.x - 1;
    }
    __syncthreads();
    if (am && threadIdx.x == 0) {
        a = 0;
        for (unsigned k = 0; k < gridDim.x; k++) a += part[k];
        *out = a;
        done = 0;
    }
}
template <class T>
void all(const char* n) {
    const unsigned N = 40000;
    std::vector<T> v(N);
    Lcg r(11);
    for (auto& x : v) x = sizeof(T) == 4 && T(0.5) == 0 ? (T)(r.next() & 255) : (T)r.unit();
    Buf<T> in(v), o(400);
    printf("%s\n", n);
    r0<T><<<157, 256, 256 * sizeof(T)>>>(in, o, N);
    show("r0", o);
    r1<T><<<157, 256, 256 * sizeof(T)>>>(in, o, N);
    show("r1", o);
    r3<T><<<79, 256, 256 * sizeof(T)>>>(in, o, N);
    show("r3", o);
    r5<T, 256><<<79, 256, 256 * sizeof(T)>>>(in, o, N);
    show("r5", o);
    r5<T, 512><<<40, 512, 512 * sizeof(T)>>>(in, o, N);
    show("r5b", o);
    r7<T, 128, true><<<64, 128, 128 * sizeof(T)>>>(in, o, N);
    show("r7", o);
}
int main() {
    all<int>("int");
    all<float>("float");
    all<double>("double");
    std::vector<float> v(50000);
    Lcg r;
    for (auto& x : v) x = r.unit();
    Buf<float> i(v), p(64), o(1);
    for (int k = 0; k < 3; k++) {
        last<<<64, 256>>>(i, p, o, 50000);
        show("last", o);
    }
    return 0;
}
