// What taken branches, loops larger than caches of instructions, and the usual detours around slow paths cost: cycles a turn.
#include <cstdio>
#include <cstdint>
#define TURNS 64
template <int K> __global__ void loop(float *out, long long *cycles, float a, int turns) {
    float x = threadIdx.x;
    long long begin = 0;
    #pragma unroll 1
    for (int turn = -2; turn < turns; turn++) {
        if (turn == 0) begin = clock64();
        #pragma unroll
        for (int k = 0; k < K; k++) asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(x) : "f"(a));
    }
    long long end = clock64();
    out[threadIdx.x] = x;
    if (threadIdx.x == 0) cycles[0] = end - begin;
}
// Independent instructions: what the fetch gives at most.
template <int K> __global__ void wide(float *out, long long *cycles, float a, int turns) {
    float x[8]; for (int i = 0; i < 8; i++) x[i] = threadIdx.x + i;
    long long begin = 0;
    #pragma unroll 1
    for (int turn = -2; turn < turns; turn++) {
        if (turn == 0) begin = clock64();
        #pragma unroll
        for (int k = 0; k < K; k++) asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(x[k % 8]) : "f"(a));
    }
    long long end = clock64();
    float s = 0; for (int i = 0; i < 8; i++) s += x[i];
    out[threadIdx.x] = s;
    if (threadIdx.x == 0) cycles[0] = end - begin;
}
enum { SQRT, RCP, DIV, SQRT4, DIV4, CALL, SPLIT, SKIP };
__device__ __noinline__ float called(float x, float a) { return fmaf(x, a, a) * x; }
template <int KIND> __global__ void detour(float *out, long long *cycles, float a, int turns) {
    float x = 1.5f + threadIdx.x * 0.01f;
    long long begin = 0;
    #pragma unroll 1
    for (int turn = -2; turn < turns; turn++) {
        if (turn == 0) begin = clock64();
        if (KIND == SQRT) asm volatile("sqrt.rn.f32 %0, %0;" : "+f"(x));
        if (KIND == RCP) asm volatile("rcp.rn.f32 %0, %0;" : "+f"(x));
        if (KIND == DIV) asm volatile("div.rn.f32 %0, %1, %0;" : "+f"(x) : "f"(a));
        if (KIND == SQRT4) { asm volatile("sqrt.rn.f32 %0, %0; sqrt.rn.f32 %0, %0; sqrt.rn.f32 %0, %0; sqrt.rn.f32 %0, %0;" : "+f"(x)); }
        if (KIND == DIV4) { asm volatile("div.rn.f32 %0, %1, %0; div.rn.f32 %0, %1, %0; div.rn.f32 %0, %1, %0; div.rn.f32 %0, %1, %0;" : "+f"(x) : "f"(a)); }
        if (KIND == CALL) x = called(x, a);
        if (KIND == SPLIT) { if (threadIdx.x & 1) asm volatile("sqrt.approx.f32 %0, %0; bar.warp.sync 0xaaaaaaaa; fma.rn.f32 %0, %0, %1, %1;" : "+f"(x) : "f"(a)); else asm volatile("ex2.approx.f32 %0, %0; bar.warp.sync 0x55555555; fma.rn.f32 %0, %0, %1, %1;" : "+f"(x) : "f"(a)); }
        if (KIND == SKIP) { if (x > a * 1e30f) asm volatile("sqrt.approx.f32 %0, %0; bar.warp.sync 0xffffffff; fma.rn.f32 %0, %0, %1, %1;" : "+f"(x) : "f"(a)); x = fmaf(x, a, a); }
    }
    long long end = clock64();
    out[threadIdx.x] = x;
    if (threadIdx.x == 0) cycles[0] = end - begin;
}
// Spilled registers: words of a thread's own memory that are written and read again.
__global__ void local(float *out, long long *cycles, int a, int turns) {
    volatile float own[64];
    for (int i = 0; i < 64; i++) own[i] = i;
    long long begin = 0; float x = 0; int at = a;
    #pragma unroll 1
    for (int turn = -2; turn < turns; turn++) {
        if (turn == 0) begin = clock64();
        own[at & 63] = x; x = own[(at + 1) & 63] + 1; own[(at + 2) & 63] = x; x = own[(at + 1) & 63] + x; at += a;
    }
    long long end = clock64();
    out[threadIdx.x] = x;
    if (threadIdx.x == 0) cycles[0] = end - begin;
}
__global__ void local_chase(float *out, long long *cycles, int a, int turns) {
    volatile int own[64];
    for (int i = 0; i < 64; i++) own[i] = (i + a) & 63;
    long long begin = 0; int at = 0;
    #pragma unroll 1
    for (int turn = -2; turn < turns; turn++) {
        if (turn == 0) begin = clock64();
        at = own[at]; at = own[at]; at = own[at]; at = own[at];
    }
    long long end = clock64();
    out[threadIdx.x] = at;
    if (threadIdx.x == 0) cycles[0] = end - begin;
}
// Sums of floats at one word of shared memory, by so many lanes of so many warps: a loop around a compare-and-swap.
__global__ void shared_sum(float *out, long long *cycles, float a, int lanes) {
    __shared__ float sum;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    long long begin = clock64();
    if (threadIdx.x % 32 < lanes) atomicAdd(&sum, a);
    __syncthreads();
    long long end = clock64();
    out[threadIdx.x] = sum;
    if (threadIdx.x == 0) cycles[0] = end - begin;
}
float *out; long long *cycles;
template <class F, class A> void row(const char *name, int k, F f, A a, int turns) {
    printf("%s %d:", name, k);
    for (int threads : {1, 32, 64, 128, 256, 512, 1024}) {
        double least = 1e30;
        for (int i = 0; i < 3; i++) {
            f<<<1, threads>>>(out, cycles, a, turns);
            if (cudaDeviceSynchronize() != cudaSuccess) { printf(" failed: %s\n", cudaGetErrorString(cudaGetLastError())); return; }
            double each = double(cycles[0]) / turns;
            if (each < least) least = each;
        }
        printf(" %d:%.2f", threads, least);
    }
    printf("\n");
}
int main() {
    cudaMallocManaged(&out, 4096); cudaMallocManaged(&cycles, 64);
    row("loop", 1, loop<1>, 0.5f, TURNS); row("loop", 4, loop<4>, 0.5f, TURNS); row("loop", 8, loop<8>, 0.5f, TURNS);
    row("loop", 16, loop<16>, 0.5f, TURNS); row("loop", 32, loop<32>, 0.5f, TURNS); row("loop", 64, loop<64>, 0.5f, TURNS);
    row("loop", 96, loop<96>, 0.5f, TURNS); row("loop", 128, loop<128>, 0.5f, TURNS); row("loop", 192, loop<192>, 0.5f, TURNS); row("loop", 256, loop<256>, 0.5f, TURNS);
    row("loop", 512, loop<512>, 0.5f, TURNS); row("loop", 1024, loop<1024>, 0.5f, TURNS); row("loop", 2048, loop<2048>, 0.5f, TURNS); row("loop", 4096, loop<4096>, 0.5f, TURNS); row("loop", 8192, loop<8192>, 0.5f, 16);
    row("wide", 8, wide<8>, 0.5f, TURNS); row("wide", 32, wide<32>, 0.5f, TURNS); row("wide", 64, wide<64>, 0.5f, TURNS); row("wide", 128, wide<128>, 0.5f, TURNS);
    row("wide", 256, wide<256>, 0.5f, TURNS); row("wide", 512, wide<512>, 0.5f, TURNS); row("wide", 1024, wide<1024>, 0.5f, TURNS); row("wide", 2048, wide<2048>, 0.5f, TURNS); row("wide", 4096, wide<4096>, 0.5f, TURNS); row("wide", 8192, wide<8192>, 0.5f, 16);
    row("sqrt", 1, detour<SQRT>, 1.1f, TURNS); row("sqrt", 4, detour<SQRT4>, 1.1f, TURNS);
    row("rcp", 1, detour<RCP>, 1.1f, TURNS); row("div", 1, detour<DIV>, 1.1f, TURNS); row("div", 4, detour<DIV4>, 1.1f, TURNS);
    row("call", 1, detour<CALL>, 0.5f, TURNS); row("split", 1, detour<SPLIT>, 0.5f, TURNS); row("skip", 1, detour<SKIP>, 0.5f, TURNS);
    row("local", 1, local, 3, TURNS); row("local_chase", 4, local_chase, 5, TURNS);
    for (int lanes : {1, 2, 4, 8, 16, 32}) row("shared_sum", lanes, shared_sum, 1.0f, lanes);
}
