// Microbenchmarks: for which exponents quotients, roots and reciprocals take the long way; how many reductions a multiprocessor has
// on their way before its warps wait.
//
//     nvcc -O3 -std=c++17 -arch=sm_90 -o ranges ranges.cu && ./ranges
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <algorithm>
#include <cstring>
#include <string>
// Cycles that are more than chance.
const unsigned SLOW = 40;
#define CHECK(x) do { cudaError_t e = (x); if (e) { printf("%s: %s\n", #x, cudaGetErrorString(e)); exit(1); } } while (0)

__device__ unsigned clk() { unsigned t; asm volatile("mov.u32 %0, %%clock;" : "=r"(t) :: "memory"); return t; }

// One lane of a warp: the fewest cycles of an operation on numbers of these bits.
template <int HOW> __device__ float does(float a, float b) {
    float r;
    if (HOW == 0) asm volatile("div.rn.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b));
    if (HOW == 1) asm volatile("sqrt.rn.f32 %0, %1;" : "=f"(r) : "f"(a));
    if (HOW == 2) asm volatile("rcp.rn.f32 %0, %1;" : "=f"(r) : "f"(a));
    return r;
}
template <int HOW> __global__ void single(const unsigned *a, const unsigned *b, unsigned *out, int n) {
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (threadIdx.x % 32 || warp >= n) return;
    float x = __uint_as_float(a[warp]), y = __uint_as_float(b[warp]), r = 0;
    unsigned took = ~0u;
    for (int k = 0; k < 8; k++) {
        unsigned t = clk();
        r = does<HOW>(x, y);
        asm volatile("" :: "f"(r) : "memory");
        unsigned e; asm volatile("{ .reg .f32 f; add.f32 f, %1, 0f00000000; mov.u32 %0, %%clock; }" : "=r"(e) : "f"(r) : "memory");
        took = min(took, e - t);
    }
    out[warp] = took;
}
template <int HOW> __device__ double doesd(double a, double b) {
    double r;
    if (HOW == 0) asm volatile("div.rn.f64 %0, %1, %2;" : "=d"(r) : "d"(a), "d"(b));
    if (HOW == 1) asm volatile("sqrt.rn.f64 %0, %1;" : "=d"(r) : "d"(a));
    if (HOW == 2) asm volatile("rcp.rn.f64 %0, %1;" : "=d"(r) : "d"(a));
    return r;
}
template <int HOW> __global__ void twice(const unsigned long long *a, const unsigned long long *b, unsigned *out, int n) {
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (threadIdx.x % 32 || warp >= n) return;
    double x = __longlong_as_double(a[warp]), y = __longlong_as_double(b[warp]), r = 0;
    unsigned took = ~0u;
    for (int k = 0; k < 8; k++) {
        unsigned t = clk();
        r = doesd<HOW>(x, y);
        unsigned e; asm volatile("{ .reg .f64 f; add.f64 f, %1, 0d0000000000000000; mov.u32 %0, %%clock; }" : "=r"(e) : "d"(r) : "memory");
        took = min(took, e - t);
    }
    out[warp] = took;
}
// What of a list takes longer than the least by so much.
void say(const char *name, const std::vector<unsigned> &took, int columns) {
    std::vector<unsigned> sorted(took); std::sort(sorted.begin(), sorted.end());
    unsigned middle = sorted[sorted.size() / 2], least = sorted[sorted.size() / 50];
    printf("%s: least %u middle %u most %u\n", name, least, middle, sorted.back());
    // By row, the ranges of columns that are slow.
    std::string before; int from = 0; int rows = took.size() / columns;
    for (int row = 0; row <= rows; row++) {
        std::string now;
        if (row < rows) for (int c = 0; c < columns; c++) {
            bool slow = took[row * columns + c] > least + SLOW, last = c && took[row * columns + c - 1] > least + SLOW;
            char text[40];
            if (slow && !last) { sprintf(text, " %d-", c); now += text; }
            if (!slow && last) { sprintf(text, "%d", c - 1); now += text; }
        } else now = "end";
        if (row == 0) before = now;
        else if (now != before) { printf("  %d..%d:%s\n", from, row - 1, before.c_str()); before = now; from = row; }
    }
}
__global__ void reds(unsigned *p, unsigned *out, int n, int lanes, int step) {
    __syncthreads();
    unsigned t = clk();
    if (threadIdx.x % 32 < lanes)
        for (int k = 0; k < n; k++) asm volatile("red.global.add.u32 [%0], 1;" :: "l"(p + (threadIdx.x % 32) * step + (k & 1) * 0) : "memory");
    unsigned e = clk();
    atomicMax(out, e - t);
    if (blockIdx.x == 0 && threadIdx.x == 0) out[1] = e - t;
}
int main() {
    cudaFree(0);
    unsigned *a, *b, *out; const int most = 1 << 17;
    CHECK(cudaMallocManaged(&a, 8 * most)); CHECK(cudaMallocManaged(&b, 8 * most)); CHECK(cudaMallocManaged(&out, 4 * most));
    auto took = [&](int n) { CHECK(cudaDeviceSynchronize()); return std::vector<unsigned>(out, out + n); };
    for (unsigned mantissa : {0u, 0x2aaaaau}) {
        for (int i = 0; i < 1 << 16; i++) { a[i] = (i >> 8) << 23 | mantissa; b[i] = (i & 255) << 23 | mantissa; }
        single<0><<<(1 << 16) / 4, 128>>>(a, b, out, 1 << 16);
        char name[80]; sprintf(name, "div.rn.f32 mantissa %x, rows exponent of the numerator, columns of the denominator", mantissa); say(name, took(1 << 16), 256);
        single<1><<<64, 128>>>((unsigned *)b, a, out, 256); sprintf(name, "sqrt.rn.f32 mantissa %x, columns exponent", mantissa); say(name, took(256), 256);
        single<2><<<64, 128>>>((unsigned *)b, a, out, 256); sprintf(name, "rcp.rn.f32 mantissa %x, columns exponent", mantissa); say(name, took(256), 256);
    }
    // Random mantissas at each difference of exponents, around the ends.
    { int n = 0; srand(1); for (int ea : {1, 20, 24, 25, 26, 100, 127, 200, 253, 254}) for (int eb = 0; eb < 256; eb++) for (int k = 0; k < 8; k++) { a[n] = ea << 23 | (rand() & 0x7fffff); b[n] = eb << 23 | (rand() & 0x7fffff); n++; }
      single<0><<<(n + 3) / 4, 128>>>(a, b, out, n); auto t = took(n); auto s = t; std::sort(s.begin(), s.end()); unsigned least = s[n / 50]; int at = 0;
      for (int ea : {1, 20, 24, 25, 26, 100, 127, 200, 253, 254}) { printf("random mantissas, numerator %d: some but not all slow at", ea); for (int eb = 0; eb < 256; eb++) { int slow = 0; for (int k = 0; k < 8; k++) slow += t[at++] > least + SLOW; if (slow && slow < 8) printf(" %d(%d)", eb, slow); } printf("\n"); } }
    unsigned long long *da = (unsigned long long *)a, *db = (unsigned long long *)b;
    for (int part = 0; part < 2; part++) {
        // Exponents of doubles in steps of 8, or those around the ends.
        std::vector<int> list; for (int e = 0; e < 2048; e += 8) list.push_back(part ? (e < 1024 ? e / 8 : 2047 - (2040 - e) / 8) : e);
        for (int i = 0; i < 1 << 16; i++) { da[i] = (unsigned long long)list[i >> 8] << 52 | 0x5555555555555; db[i] = (unsigned long long)list[i & 255] << 52 | 0x5555555555555; }
        twice<0><<<(1 << 16) / 4, 128>>>(da, db, out, 1 << 16); say(part ? "div.rn.f64, exponents 0..127 and 1920..2047" : "div.rn.f64, exponents in steps of 8", took(1 << 16), 256);
        twice<1><<<64, 128>>>(db, da, out, 256); say("sqrt.rn.f64, the same exponents", took(256), 256);
        twice<2><<<64, 128>>>(db, da, out, 256); say("rcp.rn.f64, the same exponents", took(256), 256);
    }
    unsigned *p; CHECK(cudaMalloc(&p, 1 << 20));
    for (int lanes : {1, 5, 32}) for (int step : {1, 32}) for (int threads : {32, 256, 1024}) {
        printf("reds lanes %d step %d threads %d:", lanes, step, threads);
        for (int n : {1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 192, 256, 512}) {
            if (n * threads > 1 << 15) break;
            out[0] = out[1] = 0; reds<<<132, threads>>>(p, out, n, lanes, step); CHECK(cudaDeviceSynchronize());
            out[0] = out[1] = 0; reds<<<132, threads>>>(p, out, n, lanes, step); CHECK(cudaDeviceSynchronize());
            printf(" %d:%u/%u", n, out[0], out[1]);
        }
        printf("\n");
    }
}
