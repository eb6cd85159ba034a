#include "common.h"
__global__ void blelloch(const int* in, int* out, int* sums, int n) {
    extern __shared__ int t[];
    int k = threadIdx.x, b = blockDim.x * 2, base = blockIdx.x * b;
    auto at = [](int i) { return i + (i >> 5); };
    t[at(2 * k)] = base + 2 * k < n ? in[base + 2 * k] : 0;
    t[at(2 * k + 1)] = base + 2 * k + 1 < n ? in[base + 2 * k + 1] : 0;
    int off = 1;
    for (int d = b >> 1; d > 0; d >>= 1) {
        __syncthreads();
        if (k < d) t[at(off * (2 * k + 2) - 1)] += t[at(off * (2 * k + 1) - 1)];
        off *= 2;
    }
    if (k == 0) {
        if (sums) sums[blockIdx.x] = t[at(b - 1)];
        t[at(b - 1)] = 0;
    }
    for (int d = 1; d < b; d *= 2) {
        off >>= 1;
        __syncthreads();
        if (k < d) {
            int ai = at(off * (2 * k + 1) - 1), bi = at(off * (2 * k + 2) - 1);
            int x = t[ai];
            t[ai] = t[bi];
            t[bi] += x;
        }
    }
    __syncthreads();
    if (base + 2 * k < n) out[base + 2 * k] = t[at(2 * k)];
    if (base + 2 * k + 1 < n) out[base + 2 * k + 1] = t[at(2 * k + 1)];
}
__global__ void addk(int* o, const int* s, int n, int b) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) o[i] += s[i / b];
}
__global__ void hillis(const float* in, float* out, int n) {
    __shared__ float t[2][256];
    int k = threadIdx.x, p = 0;
    t[0][k] = blockIdx.x * 256 + k < n ? in[blockIdx.x * 256 + k] : 0;
    __syncthreads();
    for (int o = 1; o < 256; o *= 2) {
        p ^= 1;
        t[p][k] = t[p ^ 1][k] + (k >= o ? t[p ^ 1][k - o] : 0);
        __syncthreads();
    }
    if (blockIdx.x * 256 + k < n) out[blockIdx.x * 256 + k] = t[p][k];
}
template <class T>
__device__ T warpscan(T v) {
    int l = threadIdx.x & 31;
    for (int o = 1; o < 32; o <<= 1) {
        T u = __shfl_up_sync(~0u, v, o);
        if (l >= o) v += u;
    }
    return v;
}
struct State {
    unsigned flag;
    unsigned pad;
    long long agg, inc;
};
__global__ void lookback(const int* in, long long* out, volatile State* st, int n, unsigned* ticket) {
    __shared__ unsigned bid;
    __shared__ long long w[8], pre;
    if (threadIdx.x == 0) bid = atomicAdd(ticket, 1);
    __syncthreads();
    unsigned b = bid;
    int i = b * 256 + threadIdx.x;
    long long v = i < n ? in[i] : 0;
    v = warpscan(v);
    if ((threadIdx.x & 31) == 31) w[threadIdx.x / 32] = v;
    __syncthreads();
    long long add = 0, tot = 0;
    for (int k = 0; k < 8; k++) {
        if (k < threadIdx.x / 32) add += w[k];
        tot += w[k];
    }
    v += add;
    if (threadIdx.x == 0) {
        if (b == 0) {
            st[b].inc = tot;
            __threadfence();
            st[b].flag = 2;
            pre = 0;
        } else {
            st[b].agg = tot;
            __threadfence();
            st[b].flag = 1;
            long long e = 0;
            for (int q = b - 1; q >= 0;) {
                unsigned f;
                while ((f = st[q].flag) == 0) __nanosleep(20);
                __threadfence();
                if (f == 2) {
                    e += st[q].inc;
                    break;
                }
                e += st[q].agg;
                q--;
            }
            st[b].inc = e + tot;
            __threadfence();
            st[b].flag = 2;
            pre = e;
        }
    }
    __syncthreads();
    if (i < n) out[i] = v + pre;
}
int main() {
    int n = 70000;
    std::vector<int> v(n);
    Lcg r(5);
    for (auto& x : v) x = r.next() % 1000;
    Buf<int> in(v), out(n), s1(137), s2(137);
    blelloch<<<137, 256, (512 + 16) * 4>>>(in, out, s1, n);
    blelloch<<<1, 256, (512 + 16) * 4>>>(s1, s2, nullptr, 137);
    addk<<<(n + 255) / 256, 256>>>(out, s2, n, 512);
    auto o = out.get();
    int acc = 0, bad = 0;
    for (int i = 0; i < n; i++) {
        bad += o[i] != acc;
        acc += v[i];
    }
    printf("bad %d last %d\n", bad, o[n - 1]);
    std::vector<float> f(n);
    for (auto& x : f) x = r.unit();
    Buf<float> fi(f), fo(n);
    hillis<<<(n + 255) / 256, 256>>>(fi, fo, n);
    show("hillis", fo);
    int nb = (n + 255) / 256;
    Buf<State> st(nb);
    Buf<unsigned> tk(1);
    Buf<long long> lo(n);
    lookback<<<nb, 256>>>(in, lo, st.d, n, tk);
    show("lookback", lo);
    return 0;
}
