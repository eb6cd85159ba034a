// Microbenchmarks: cycles of a line of eight instructions in code larger than the caches of instructions, pass by pass: warm, with the
// second level full of something else (flush), with other code in the other caches (evict), and both. With names of kernels behind,
// these are launched and nothing is printed: for a profiler.
//
//     python3 cold.py > cold.ptx && ptxas -arch=sm_90 -O1 -o cold.cubin cold.ptx
//     nvcc -O2 -std=c++17 -o cold cold.cu -lcuda && ./cold cold.cubin
#include <cuda.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <string>
#include <algorithm>
#define CK(x) do { CUresult r = (x); if (r) { const char *s; cuGetErrorString(r, &s); printf("%s: %s\n", #x, s); exit(1); } } while (0)
int main(int argc, char **argv) {
    CK(cuInit(0)); CUdevice d; CUcontext c; CK(cuDeviceGet(&d, 0)); CK(cuDevicePrimaryCtxRetain(&c, d)); CK(cuCtxSetCurrent(c));
    CUmodule m; CK(cuModuleLoad(&m, argv[1]));
    CUdeviceptr out, full; CK(cuMemAlloc(&out, 132 * 32 * 4)); CK(cuMemAlloc(&full, 256 << 20));
    auto launch = [&](const char *name, int grid, int threads, unsigned passes) { CUfunction f; CK(cuModuleGetFunction(&f, m, name)); float a = 0.5f; void *args[] = {&out, &passes, &a}; CK(cuLaunchKernel(f, grid, 1, 1, threads, 1, 1, 0, 0, args, 0)); CK(cuCtxSynchronize()); };
    if (argc > 2) { for (int g : {1, 132}) for (int i = 2; i < argc; i++) launch(argv[i], g, 64, 1); return 0; }
    for (const char *how : {"warm", "flush", "evict", "both"}) for (const char *k : {"d", "i"}) for (int n : {256, 512, 896, 1000, 1100, 1280, 1720}) for (int grid : {1, 132}) for (int threads : {32, 64, 256}) {
        std::string name = k + std::to_string(n);
        launch(name.c_str(), grid, threads, 2);
        if (!strcmp(how, "evict") || !strcmp(how, "both")) launch("evict", 132, 32, 1);
        if (!strcmp(how, "flush") || !strcmp(how, "both")) { CK(cuMemsetD8(full, 1, 256 << 20)); CK(cuCtxSynchronize()); }
        launch(name.c_str(), grid, threads, 3);
        std::vector<unsigned> h(132 * 8); CK(cuMemcpyDtoH(h.data(), out, h.size() * 4));
        printf("%s %s grid=%d threads=%d:", how, name.c_str(), grid, threads);
        for (int p = 0; p < 3; p++) { unsigned lo = ~0u, hi = 0; for (int b = 0; b < grid; b++) lo = std::min(lo, h[b * 8 + p]), hi = std::max(hi, h[b * 8 + p]); printf(" %.2f", double(lo) / n); if (grid > 1) printf("-%.2f", double(hi) / n); }
        printf("\n");
    }
}
