// Rates of the second level where few lines are hot, of local memory, and what blocks cost that follow each other.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <algorithm>
#include <cuda_runtime.h>
using u64 = unsigned long long;
__device__ unsigned long long starts[1 << 16], ends[1 << 16];
__device__ inline void begin() { if (threadIdx.x == 0) { u64 t; asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t)); (void)t; starts[blockIdx.x] = clock64(); } }
__device__ inline void end() { __syncthreads(); if (threadIdx.x == 0) ends[blockIdx.x] = clock64(); }
template <int OP> __global__ void hot(unsigned* a, unsigned lines, unsigned step, int times, unsigned* out) {
    __syncthreads(); begin();
    unsigned warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32, s = 0;
#pragma unroll 4
    for (int i = 0; i < times; i++) {
        unsigned* p = a + size_t((warp * 7 + i) % lines) * step * 32 + lane;
        unsigned v = 0;
        if (OP == 0) asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(v) : "l"(p));
        if (OP == 1) asm volatile("st.global.u32 [%0], %1;" :: "l"(p), "r"(i) : "memory");
        if (OP == 2) { if (lane % 8 == 0) asm volatile("st.global.u32 [%0], %1;" :: "l"(p), "r"(i) : "memory"); }
        if (OP == 3) { if (lane < 8) asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(v) : "l"(p)); }
        if (OP == 4) { if (lane < 8) asm volatile("st.global.u32 [%0], %1;" :: "l"(p), "r"(i) : "memory"); }
        s += v;
    }
    if (s == 12345) out[0] = s;
    end();
}
template <int OP> __global__ void own_bytes(const unsigned char* which, unsigned* out, int times) {
    unsigned char own[64]; for (int k = 0; k < 64; k++) own[k] = 0;
    __syncthreads(); begin(); unsigned at = which[threadIdx.x & 31], s = 0;
    for (int i = 0; i < times; i++) {
        if (OP == 0) own[(at + i) & 63] = i;
        if (OP == 1) s += own[(at + i * 3) & 63];
        if (OP == 2) own[(at + i) & 63]++;
    }
    for (int k = 0; k < 64; k++) s += own[k];
    if (s == 12345) out[0] = s;
    end();
}
__global__ void follow(unsigned* a, int how, int words) {
    extern __shared__ unsigned t[];
    size_t at = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
    if (how == 1) a[at] = at; if (how == 2) a[threadIdx.x] = at;
    if (how == 3) { t[threadIdx.x] = at; __syncthreads(); a[at] = t[threadIdx.x ^ 1]; }
    if (how == 4) { unsigned v = a[at]; a[at] = v + 1; }
    if (how == 5) { if (threadIdx.x == 0) a[blockIdx.x] = at; }
    if (how == 6 && a[at & 1023] == 77) a[at] = 1;
}
static double most(int blocks) {
    static unsigned long long s[1 << 16], e[1 << 16]; cudaMemcpyFromSymbol(s, starts, 8 * blocks); cudaMemcpyFromSymbol(e, ends, 8 * blocks);
    double m = 0; for (int i = 0; i < blocks; i++) m = std::max(m, double(e[i] - s[i])); return m;
}
template <class F> static double median(F f) { std::vector<double> v; for (int k = 0; k < 4; k++) v.push_back(f()); v.erase(v.begin()); std::sort(v.begin(), v.end()); return v[1]; }
int main() {
    unsigned *a, *out; unsigned char* which; cudaMalloc(&a, 256 << 20); cudaMalloc(&out, 4096); cudaMalloc(&which, 4096); cudaMemset(a, 0, 256 << 20); cudaMemset(which, 0, 4096);
    const char* names[] = {"read", "write", "write4of32", "read8", "write8"};
    for (int op = 0; op < 5; op++) for (unsigned step : {1u, 33u}) for (int threads : {256, 1024}) {
        printf("hot %s step %u 132x%d:", names[op], step, threads);
        for (unsigned lines : {1u, 2u, 4u, 8u, 16u, 32u, 64u, 128u, 512u, 4096u, 16384u}) {
            int times = 128;
            double c = median([&] {
                switch (op) { case 0: hot<0><<<132, threads>>>(a, lines, step, times, out); break; case 1: hot<1><<<132, threads>>>(a, lines, step, times, out); break; case 2: hot<2><<<132, threads>>>(a, lines, step, times, out); break; case 3: hot<3><<<132, threads>>>(a, lines, step, times, out); break; default: hot<4><<<132, threads>>>(a, lines, step, times, out); }
                return most(132); });
            printf(" %u:%.4f", lines, c / (132.0 * threads / 32 * times));
        }
        printf(" (%s)\n", cudaGetErrorString(cudaDeviceSynchronize()));
    }
    for (int op = 0; op < 3; op++) for (int blocks : {1, 132, 264}) for (int threads : {32, 128, 256, 512}) {
        double c = median([&] { if (op == 0) own_bytes<0><<<blocks, threads>>>(which, out, 128); else if (op == 1) own_bytes<1><<<blocks, threads>>>(which, out, 128); else own_bytes<2><<<blocks, threads>>>(which, out, 128); return most(blocks); });
        printf("local %s %dx%d: %.3f a turn\n", op == 0 ? "store" : op == 1 ? "load" : "both", blocks, threads, c / 128);
    }
    cudaFuncSetAttribute(follow, cudaFuncAttributeMaxDynamicSharedMemorySize, 120 << 10);
    cudaEvent_t e0, e1; cudaEventCreate(&e0); cudaEventCreate(&e1);
    for (int how = 0; how < 7; how++) for (int threads : {32, 128, 256, 1024}) for (int shared : {4096, 120 << 10}) {
        auto time = [&](int blocks) { return median([&] { cudaEventRecord(e0); follow<<<blocks, threads, shared>>>(a, how, 0); cudaEventRecord(e1); cudaEventSynchronize(e1); float ms; cudaEventElapsedTime(&ms, e0, e1); return double(ms) * 1.98e6; }); };
        double few = time(132 * 20), many = time(132 * 120);
        printf("follow how %d threads %d shared %d: %.1f cycles a round of 132\n", how, threads, shared, (many - few) / 100);
    }
    printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
