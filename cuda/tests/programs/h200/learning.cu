#include <cfloat>

#include "common.h"
__global__ void kassign(const float* p, const float* c, int* m, int n, int k, int d) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int best = -1;
    float bd = FLT_MAX;
    for (int j = 0; j < k; j++) {
        float s = 0;
        for (int l = 0; l < d; l++) s += (p[l * n + i] - c[j * d + l]) * (p[l * n + i] - c[j * d + l]);
        if (s < bd) {
            bd = s;
            best = j;
        }
    }
    m[i] = best;
}
__global__ void softmax(const float* x, float* y, int cols) {
    __shared__ float red[32];
    const float* r = x + blockIdx.x * cols;
    float m = -INFINITY;
    for (int i = threadIdx.x; i < cols; i += blockDim.x) m = fmaxf(m, r[i]);
    for (int o = 16; o; o >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, o));
    if (threadIdx.x % 32 == 0) red[threadIdx.x / 32] = m;
    __syncthreads();
    m = red[0];
    for (int k = 1; k < blockDim.x / 32; k++) m = fmaxf(m, red[k]);
    __syncthreads();
    float s = 0;
    for (int i = threadIdx.x; i < cols; i += blockDim.x) s += expf(r[i] - m);
    for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(~0u, s, o);
    if (threadIdx.x % 32 == 0) red[threadIdx.x / 32] = s;
    __syncthreads();
    s = 0;
    for (int k = 0; k < blockDim.x / 32; k++) s += red[k];
    for (int i = threadIdx.x; i < cols; i += blockDim.x) y[blockIdx.x * cols + i] = expf(r[i] - m) / s;
}
__global__ void layernorm(const float* x, const float* g, const float* b, float* y, int c) {
    int w = threadIdx.x / 32, l = threadIdx.x % 32, row = blockIdx.x * (blockDim.x / 32) + w;
    const float* r = x + row * c;
    float s = 0, q = 0;
    for (int i = l; i < c; i += 32) s += r[i];
    for (int o = 16; o; o /= 2) s += __shfl_down_sync(~0u, s, o);
    s = __shfl_sync(~0u, s, 0) / c;
    for (int i = l; i < c; i += 32) {
        float d = r[i] - s;
        q += d * d;
    }
    for (int o = 16; o; o /= 2) q += __shfl_down_sync(~0u, q, o);
    q = __shfl_sync(~0u, q, 0);
    float inv = rsqrtf(q / c + 1e-5f);
    for (int i = l; i < c; i += 32) y[row * c + i] = (r[i] - s) * inv * g[i] + b[i];
}
__global__ void gelu(const float* x, float* y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float v = x[i] * 8 - 4;
        y[i] = 0.5f * v * (1.0f + tanhf(0.7978845608f * (v + 0.044715f * v * v * v))) +
               1.0f / (1.0f + expf(-v)) + erff(v) + log1pf(expf(-fabsf(v))) + (v > 0 ? v : 0.01f * v) +
               v * normcdff(v);
    }
}
__global__ void conv2d(const float* x, const float* w, float* y, int ci, int h, int wd, int k) {
    int oc = blockIdx.z, yy = blockIdx.y * blockDim.y + threadIdx.y,
        xx = blockIdx.x * blockDim.x + threadIdx.x;
    if (yy >= h - k + 1 || xx >= wd - k + 1) return;
    float a = 0;
    for (int c = 0; c < ci; c++)
        for (int i = 0; i < k; i++)
            for (int j = 0; j < k; j++)
                a += x[(c * h + yy + i) * wd + xx + j] * w[((oc * ci + c) * k + i) * k + j];
    y[(oc * (h - k + 1) + yy) * (wd - k + 1) + xx] = fmaxf(a, 0);
}
__global__ void pool(const float* x, float* y, int* idx, int h, int w) {
    int c = blockIdx.z, oy = threadIdx.y, ox = threadIdx.x;
    float m = -1e30f;
    int mi = 0;
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            float v = x[(c * h + oy * 2 + i) * w + ox * 2 + j];
            if (v > m) {
                m = v;
                mi = i * 2 + j;
            }
        }
    y[(c * (h / 2) + oy) * (w / 2) + ox] = m;
    idx[(c * (h / 2) + oy) * (w / 2) + ox] = mi;
}
__global__ void attn(const float* Q, const float* K, const float* V, float* O, int N, int d, int Bc,
                     float sc) {
    extern __shared__ float sm[];
    int tx = threadIdx.x;
    float *Qi = sm, *Kj = sm + Bc * d, *Vj = Kj + Bc * d, *S = Vj + Bc * d;
    for (int i = 0; i < N / Bc; i++) {
        for (int x = 0; x < d; x++) Qi[tx * d + x] = Q[(i * Bc + tx) * d + x];
        float m = -INFINITY, l = 0;
        for (int x = 0; x < d; x++) O[(i * Bc + tx) * d + x] = 0;
        for (int j = 0; j < N / Bc; j++) {
            for (int x = 0; x < d; x++) {
                Kj[tx * d + x] = K[(j * Bc + tx) * d + x];
                Vj[tx * d + x] = V[(j * Bc + tx) * d + x];
            }
            __syncthreads();
            float rm = -INFINITY;
            for (int y = 0; y < Bc; y++) {
                float s = 0;
                for (int x = 0; x < d; x++) s += Qi[tx * d + x] * Kj[y * d + x];
                s *= sc;
                S[Bc * tx + y] = s;
                if (s > rm) rm = s;
            }
            float rl = 0;
            for (int y = 0; y < Bc; y++) {
                S[Bc * tx + y] = __expf(S[Bc * tx + y] - rm);
                rl += S[Bc * tx + y];
            }
            float nm = max(m, rm), nl = __expf(m - nm) * l + __expf(rm - nm) * rl;
            for (int x = 0; x < d; x++) {
                float pv = 0;
                for (int y = 0; y < Bc; y++) pv += S[Bc * tx + y] * Vj[y * d + x];
                O[(i * Bc + tx) * d + x] =
                    1 / nl * (l * __expf(m - nm) * O[(i * Bc + tx) * d + x] + __expf(rm - nm) * pv);
            }
            m = nm;
            l = nl;
            __syncthreads();
        }
    }
}
__global__ void adam(float* w, float* m, float* v, const float* g, int n, float lr, float b1, float b2,
                     float c1, float c2) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float gi = g[i] - .5f;
    m[i] = b1 * m[i] + (1 - b1) * gi;
    v[i] = b2 * v[i] + (1 - b2) * gi * gi;
    w[i] -= lr * (m[i] / c1) / (sqrtf(v[i] / c2) + 1e-8f);
}
int main() {
    Lcg r(10);
    auto mk = [&](int n) {
        std::vector<float> v(n);
        for (auto& x : v) x = r.unit();
        return v;
    };
    Buf<float> x(mk(64 * 200)), g(mk(200)), b(mk(200)), y(64 * 200);
    Buf<int> m(3000);
    kassign<<<12, 256>>>(x, g, m, 3000, 5, 4);
    show("kmeans", m);
    softmax<<<64, 128>>>(x, y, 200);
    show("softmax", y);
    layernorm<<<16, 128>>>(x, g, b, y, 200);
    show("ln", y);
    gelu<<<10, 128>>>(x, y, 12800);
    show("gelu", y);
    Buf<float> w(mk(4 * 3 * 25)), c(4 * 20 * 20);
    conv2d<<<dim3(2, 3, 4), dim3(16, 8)>>>(x, w, c, 3, 24, 24, 5);
    show("conv", c);
    Buf<float> p(4 * 100);
    Buf<int> pi(400);
    pool<<<dim3(1, 1, 4), dim3(10, 10)>>>(c, p, pi, 20, 20);
    show("pool", p);
    show("pidx", pi);
    Buf<float> o(64 * 32), k(mk(64 * 32)), v(mk(64 * 32));
    attn<<<1, 32, (3 * 32 * 32 + 32 * 32) * 4>>>(x, k, v, o, 64, 32, 32, 0.17677669f);
    show("attn", o);
    Buf<float> am(2048), av(2048);
    for (int i = 1; i < 4; i++)
        adam<<<8, 256>>>(k, am, av, x, 2048, 0.001f, 0.9f, 0.999f, 1 - powf(0.9f, i), 1 - powf(0.999f, i));
    show("adam", k);
    return 0;
}
