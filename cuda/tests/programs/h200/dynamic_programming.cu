#include "common.h"
__global__ void nw(int* m, const int* ref, int cols, int pen, int i, int bx0, int top) {
    __shared__ int t[17][17], rr[16][16];
    int bx = blockIdx.x, tx = threadIdx.x, x = top ? bx : bx + bx0, y = top ? i - 1 - bx : bx0 + i - 1 - bx;
    (void)bx0;
    int idx = cols * 16 * y + 16 * x + tx + cols + 1, w = cols * 16 * y + 16 * x + cols,
        nwi = cols * 16 * y + 16 * x, ni = nwi + tx + 1;
    if (tx == 0) t[0][0] = m[nwi];
    for (int k = 0; k < 16; k++) rr[k][tx] = ref[idx + cols * k];
    __syncthreads();
    t[tx + 1][0] = m[w + cols * tx];
    __syncthreads();
    t[0][tx + 1] = m[ni];
    __syncthreads();
    for (int k = 0; k < 16; k++) {
        if (tx <= k) {
            int a = tx + 1, b = k - tx + 1;
            t[b][a] = max(t[b - 1][a - 1] + rr[b - 1][a - 1], max(t[b][a - 1] - pen, t[b - 1][a] - pen));
        }
        __syncthreads();
    }
    for (int k = 14; k >= 0; k--) {
        if (tx <= k) {
            int a = tx + 16 - k, b = 16 - tx;
            t[b][a] = max(t[b - 1][a - 1] + rr[b - 1][a - 1], max(t[b][a - 1] - pen, t[b - 1][a] - pen));
        }
        __syncthreads();
    }
    for (int k = 0; k < 16; k++) m[idx + cols * k] = t[k + 1][tx + 1];
}
__global__ void pathf(int it, const int* wall, const int* src, int* dst, int cols, int start) {
    __shared__ int p[256], q[256];
    int tx = threadIdx.x, bs = 256 - it * 2, x = bs * blockIdx.x - it + tx;
    bool in = x >= 0 && x < cols;
    if (in) p[tx] = src[x];
    __syncthreads();
    bool comp = false;
    for (int i = 0; i < it; i++) {
        comp = false;
        if (tx >= i + 1 && tx <= 254 - i && in) {
            comp = true;
            int l = x > 0 ? p[tx - 1] : 1 << 29, r = x < cols - 1 ? p[tx + 1] : 1 << 29;
            q[tx] = min(min(l, p[tx]), r) + wall[cols * (start + i) + x];
        }
        __syncthreads();
        if (i == it - 1) break;
        if (comp) p[tx] = q[tx];
        __syncthreads();
    }
    if (comp) dst[x] = q[tx];
}
__global__ void ludDiag(float* m, int n, int o) {
    __shared__ float s[16][16];
    int t = threadIdx.x;
    for (int i = 0; i < 16; i++) s[i][t] = m[(o + i) * n + o + t];
    __syncthreads();
    for (int i = 0; i < 15; i++) {
        if (t > i) {
            for (int j = 0; j < i; j++) s[t][i] -= s[t][j] * s[j][i];
            s[t][i] /= s[i][i];
        }
        __syncthreads();
        if (t > i)
            for (int j = 0; j < i + 1; j++) s[i + 1][t] -= s[i + 1][j] * s[j][t];
        __syncthreads();
    }
    for (int i = 1; i < 16; i++) m[(o + i) * n + o + t] = s[i][t];
}
__global__ void lcs(const char* a, const char* b, int* d, int n) {
    extern __shared__ int row[];
    int t = threadIdx.x;
    for (int diag = 0; diag < 2 * n - 1; diag++) {
        int i = t, j = diag - t;
        if (i < n && j >= 0 && j < n) {
            int up = i ? d[(i - 1) * n + j] : 0, le = j ? d[i * n + j - 1] : 0,
                dg = i && j ? d[(i - 1) * n + j - 1] : 0;
            d[i * n + j] = a[i] == b[j] ? dg + 1 : max(up, le);
        }
        __syncthreads();
    }
}
__global__ void gauss(float* a, float* b, int n, int k) {
    int i = blockIdx.x * blockDim.x + threadIdx.x + k + 1;
    if (i >= n) return;
    float f = a[i * n + k] / a[k * n + k];
    for (int j = k; j < n; j++) a[i * n + j] -= f * a[k * n + j];
    b[i] -= f * b[k];
}
int main() {
    Lcg r(77);
    {
        int n = 64, c = n + 1;
        std::vector<int> m(c * c), ref(c * c);
        for (int i = 0; i < c; i++) {
            m[i] = -i * 10;
            m[i * c] = -i * 10;
        }
        for (auto& x : ref) x = (int)(r.next() % 21) - 10;
        Buf<int> dm(m), dr(ref);
        for (int i = 1; i <= 4; i++) nw<<<i, 16>>>(dm, dr, c, 10, i, 0, 1);
        for (int i = 3; i >= 1; i--) nw<<<i, 16>>>(dm, dr, c, 10, i, 4 - i, 0);
        show("nw", dm);
    }
    {
        int cols = 1000, rows = 21;
        std::vector<int> w(cols * rows);
        for (auto& x : w) x = r.next() % 10;
        Buf<int> dw(w), a(cols), b(cols);
        CK(cudaMemcpy(a, w.data(), cols * 4, cudaMemcpyHostToDevice));
        for (int t = 0; t < 20; t += 5) {
            pathf<<<(cols + 245) / 246, 256>>>(5, dw.d + cols, t % 2 ? b : a, t % 2 ? a : b, cols, t);
        }
        show("patha", a);
        show("pathb", b);
    }
    {
        int n = 32;
        std::vector<float> m(n * n);
        for (int i = 0; i < n * n; i++) m[i] = r.unit() + (i % (n + 1) == 0 ? 10 : 0);
        Buf<float> d(m);
        ludDiag<<<1, 16>>>(d, n, 0);
        ludDiag<<<1, 16>>>(d, n, 16);
        show("lud", d);
        Buf<float> g(m), b(m);
        for (int k = 0; k < n - 1; k++) gauss<<<1, 32>>>(g, b, n, k);
        show("ga", g);
        show("gb", b);
    }
    {
        int n = 100;
        std::vector<char> a(n), b(n);
        for (auto& x : a) x = 'a' + r.next() % 4;
        for (auto& x : b) x = 'a' + r.next() % 4;
        Buf<char> da(a), db(b);
        Buf<int> d(n * n);
        lcs<<<1, 128, 16>>>(da, db, d, n);
        show("lcs", d);
    }
    return 0;
}
