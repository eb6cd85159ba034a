#include "common.h"
__device__ inline float cnd(float d) {
    const float A1 = 0.31938153f, A2 = -0.356563782f, A3 = 1.781477937f, A4 = -1.821255978f,
                A5 = 1.330274429f;
    float K = __fdividef(1.0f, 1.0f + 0.2316419f * fabsf(d));
    float c = 0.39894228040143267793994605993438f * __expf(-0.5f * d * d) *
              (K * (A1 + K * (A2 + K * (A3 + K * (A4 + K * A5)))));
    return d > 0 ? 1.0f - c : c;
}
__global__ void bs(float2* call, float2* put, const float2* S, const float2* X, const float2* T, float R,
                   float V, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    auto one = [&](float& c, float& p, float s, float x, float t) {
        float sq = __fdividef(1.0f, rsqrtf(t));
        float d1 = __fdividef(__logf(s / x) + (R + 0.5f * V * V) * t, V * sq), d2 = d1 - V * sq;
        float a = cnd(d1), b = cnd(d2);
        float e = __expf(-R * t);
        c = s * a - x * e * b;
        p = x * e * (1.0f - b) - s * (1.0f - a);
    };
    float2 c, p;
    one(c.x, p.x, S[i].x, X[i].x, T[i].x);
    one(c.y, p.y, S[i].y, X[i].y, T[i].y);
    call[i] = c;
    put[i] = p;
}
template <class F>
__global__ void bsd(F* o, const F* s, int n, F r, F v) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    F S = s[i], X = s[i] * F(1.1) + F(3), T = F(0.25) + s[i] * F(0.01);
    F d1 = (log(S / X) + (r + F(0.5) * v * v) * T) / (v * sqrt(T)), d2 = d1 - v * sqrt(T);
    o[i] = S * normcdf(d1) - X * exp(-r * T) * normcdf(d2);
    o[i + n] = X * exp(-r * T) * (F(0.5) * erfc(d2 * F(0.70710678118654752440))) -
               S * F(0.5) * erfc(d1 * F(0.70710678118654752440));
}
template <>
__global__ void bsd<float>(float* o, const float* s, int n, float r, float v) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float S = s[i], X = S * 1.1f + 3, T = 0.25f + S * 0.01f;
    float d1 = (logf(S / X) + (r + 0.5f * v * v) * T) / (v * sqrtf(T)), d2 = d1 - v * sqrtf(T);
    o[i] = S * normcdff(d1) - X * expf(-r * T) * normcdff(d2);
    o[i + n] = powf(X, 0.37f) * erfcf(d2) - tanhf(d1) * cbrtf(S);
}
__global__ void binomial(const float* s, float* o, int steps) {
    __shared__ float c[257];
    float S = s[blockIdx.x], X = S * 1.05f, T = 1.0f, R = 0.06f, V = 0.2f;
    float dt = T / steps, vs = V * sqrtf(dt), rd = R * dt, ir = expf(rd), di = 1.0f / ir, u = expf(vs),
          d = expf(-vs), pu = (ir - d) / (u - d), pd = 1 - pu, puD = pu * di, pdD = pd * di;
    int t = threadIdx.x;
    for (int i = t; i <= steps; i += blockDim.x) c[i] = fmaxf(S * expf(vs * (2.0f * i - steps)) - X, 0);
    __syncthreads();
    for (int k = steps; k > 0; k--) {
        float v = 0;
        if (t < k) v = puD * c[t + 1] + pdD * c[t];
        __syncthreads();
        if (t < k) c[t] = v;
        __syncthreads();
    }
    if (t == 0) o[blockIdx.x] = c[0];
}
int main() {
    int n = 4000;
    Lcg r(5);
    std::vector<float2> S(n), X(n), T(n);
    for (int i = 0; i < n; i++) {
        S[i] = {5 + 25 * r.unit(), 5 + 25 * r.unit()};
        X[i] = {1 + 99 * r.unit(), 1 + 99 * r.unit()};
        T[i] = {.25f + 9.75f * r.unit(), .25f + 9.75f * r.unit()};
    }
    Buf<float2> s(S), x(X), t(T), c(n), p(n);
    bs<<<(n + 127) / 128, 128>>>(c, p, s, x, t, 0.02f, 0.30f, n);
    show("call", c);
    show("put", p);
    std::vector<double> d(n);
    std::vector<float> f(n);
    for (int i = 0; i < n; i++) d[i] = f[i] = 5 + r.unit() * 90;
    Buf<double> dd(d), od(2 * n);
    Buf<float> ff(f), of(2 * n);
    bsd<double><<<(n + 127) / 128, 128>>>(od, dd, n, 0.03, 0.25);
    show("bsd", od);
    bsd<float><<<(n + 127) / 128, 128>>>(of, ff, n, 0.03f, 0.25f);
    show("bsf", of);
    Buf<float> bo(64);
    binomial<<<64, 256>>>(ff, bo, 255);
    show("bin", bo);
    return 0;
}
