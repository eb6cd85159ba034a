// Microbenchmarks: constants of a program, word by word and pass by pass. Each launch begins with the second level full of something
// else.
//
//     nvcc -O3 -std=c++17 -arch=sm_90 -o constants constants.cu && ./constants
#include <cstdio>
#include <cstdlib>
#include <algorithm>
#include <vector>
#define CHECK(x) do { cudaError_t e = (x); if (e) { printf("%s: %s\n", #x, cudaGetErrorString(e)); exit(1); } } while (0)
const int PASSES = 5;
unsigned *out, *full; // managed: cycles by block and pass

__device__ unsigned clk() { unsigned t; asm volatile("mov.u32 %0, %%clock;" : "=r"(t) :: "memory"); return t; }
__constant__ unsigned table[16384];
// Each word says which is next: steps of a pass.
__global__ void chase(unsigned steps, unsigned *out, int passes) {
    unsigned at = 0;
    for (int pass = 0; pass < passes; pass++) {
        unsigned t = clk();
        #pragma unroll 1
        for (unsigned k = 0; k < steps; k++) at = table[at];
        unsigned e; asm volatile("{ .reg .u32 r; add.u32 r, %1, 1; mov.u32 %0, %%clock; }" : "=r"(e) : "r"(at) : "memory");
        if (threadIdx.x == 0) out[blockIdx.x * PASSES + pass] = e - t;
    }
    if (at == 12345) out[0] = 0;
}
// The number of a word is the same for all, and known ahead.
template <int STRIDE> __global__ void stream(unsigned steps, unsigned *out, int passes) {
    float sum = 0;
    for (int pass = 0; pass < passes; pass++) {
        unsigned t = clk();
        #pragma unroll 4
        for (unsigned k = 0; k < steps; k++) sum = fmaf(sum, __uint_as_float(table[k * STRIDE]), 1.0f);
        unsigned e; asm volatile("{ .reg .f32 r; add.f32 r, %1, 0f3f800000; mov.u32 %0, %%clock; }" : "=r"(e) : "f"(sum) : "memory");
        if (threadIdx.x == 0) out[blockIdx.x * PASSES + pass] = e - t;
    }
    if (sum == 1.234f) out[0] = 0;
}
// Lanes ask for so many different words.
__global__ void spread(unsigned words, unsigned *out, int passes) {
    unsigned at = threadIdx.x % words * 16;
    for (int pass = 0; pass < passes; pass++) {
        unsigned t = clk();
        #pragma unroll 1
        for (unsigned k = 0; k < 64; k++) at = table[at];
        unsigned e; asm volatile("{ .reg .u32 r; add.u32 r, %1, 1; mov.u32 %0, %%clock; }" : "=r"(e) : "r"(at) : "memory");
        if (threadIdx.x == 0) out[blockIdx.x * PASSES + pass] = e - t;
    }
    if (at == 12345) out[0] = 0;
}

template <class F> void row(const char *name, double parts, F launch) {
    for (int grid : {1, 2, 132, 264}) for (int threads : {32, 256}) {
        printf("%s grid=%d threads=%d:", name, grid, threads);
        for (int again = 0; again < 2; again++) {
            CHECK(cudaMemset(full, again, 256u << 20)); CHECK(cudaDeviceSynchronize());
            launch(grid, threads);
            CHECK(cudaDeviceSynchronize());
            std::vector<unsigned> had(264 * PASSES); CHECK(cudaMemcpy(had.data(), out, had.size() * 4, cudaMemcpyDeviceToHost));
            for (int pass = 0; pass < PASSES; pass++) {
                unsigned most = 0, least = ~0u; for (int b = 0; b < grid; b++) { most = std::max(most, had[b * PASSES + pass]); least = std::min(least, had[b * PASSES + pass]); }
                printf(again ? " %.2f" : "", least / parts); if (again && grid > 1) printf("-%.2f", most / parts);
            }
        }
        printf("\n");
    }
}
int main() {
    CHECK(cudaMalloc(&out, 264 * PASSES * 4)); CHECK(cudaMalloc(&full, 256u << 20));
    printf("cycles of a step, pass by pass; the least and the most of all blocks\n");
    for (unsigned stride : {4, 16, 64}) for (unsigned words : {128, 512, 1024, 2048, 4096, 8192, 16384}) {
        std::vector<unsigned> next(16384); for (unsigned k = 0; k < next.size(); k++) next[k] = (k + stride) % words;
        CHECK(cudaMemcpyToSymbol(table, next.data(), next.size() * 4));
        unsigned steps = words / stride; char name[99]; sprintf(name, "chase bytes=%u stride=%u", words * 4, stride * 4);
        row(name, steps, [=](int g, int t) { chase<<<g, t>>>(steps, out, PASSES); });
        sprintf(name, "stream bytes=%u stride=%u", words * 4, stride * 4);
        row(name, steps, [=](int g, int t) { if (stride == 4) stream<4><<<g, t>>>(steps, out, PASSES); else if (stride == 16) stream<16><<<g, t>>>(steps, out, PASSES); else stream<64><<<g, t>>>(steps, out, PASSES); });
    }
    std::vector<unsigned> same(16384); for (unsigned k = 0; k < same.size(); k++) same[k] = k;
    CHECK(cudaMemcpyToSymbol(table, same.data(), same.size() * 4));
    for (unsigned words : {1, 2, 4, 8, 16, 32}) { char name[99]; sprintf(name, "spread words=%u", words); row(name, 64, [=](int g, int t) { spread<<<g, t>>>(words, out, PASSES); }); }
}
