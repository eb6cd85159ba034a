// Microbenchmark: cycles a jump in loops over jumps among so many lines of code, turn by turn.
//
//     python3 jumps.py > jumps.ptx && ptxas -arch=sm_90 -o jumps.cubin jumps.ptx
//     nvcc -O2 -std=c++17 -o jumps jumps.cu -lcuda && ./jumps jumps.cubin $(grep -o 'j[0-9]*_[0-9]*' jumps.ptx)
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cuda.h>
#include <vector>

static void ok(CUresult result, const char *what) {
  const char *text = "?";
  if (result) { cuGetErrorString(result, &text); fprintf(stderr, "%s: %s\n", what, text); exit(1); }
}

int main(int argc, char **argv) {
  CUdevice device; CUcontext context; CUmodule module; CUdeviceptr out;
  ok(cuInit(0), "driver");
  ok(cuDeviceGet(&device, 0), "device");
  ok(cuDevicePrimaryCtxRetain(&context, device), "context");
  ok(cuCtxSetCurrent(context), "context");
  ok(cuModuleLoad(&module, argc > 1 ? argv[1] : "jumps.cubin"), "module");
  ok(cuMemAlloc(&out, 132 * 32 * 4), "memory");
  for (int at = 2; at < argc; at++)
    for (int grid : {1, 132})
      for (int threads : {32, 128, 256}) {
        CUfunction kernel;
        ok(cuModuleGetFunction(&kernel, module, argv[at]), argv[at]);
        float a = 0.5f;
        // The second launch finds what the first one has fetched.
        for (unsigned turns : {2u, 3u}) {
          void *args[] = {&out, &turns, &a};
          ok(cuLaunchKernel(kernel, grid, 1, 1, threads, 1, 1, 0, nullptr, args, nullptr), argv[at]);
          ok(cuCtxSynchronize(), argv[at]);
        }
        std::vector<unsigned> cycles(132 * 8);
        ok(cuMemcpyDtoH(cycles.data(), out, cycles.size() * 4), "cycles");
        printf("%s grid=%d threads=%d:", argv[at], grid, threads);
        for (int turn = 0; turn < 3; turn++) {
          unsigned least = ~0u, most = 0;
          for (int block = 0; block < grid; block++)
            least = std::min(least, cycles[block * 8 + turn]), most = std::max(most, cycles[block * 8 + turn]);
          printf(" %.2f", double(least) / atoi(argv[at] + 1));
          if (grid > 1) printf("-%.2f", double(most) / atoi(argv[at] + 1));
        }
        printf("\n");
      }
}
