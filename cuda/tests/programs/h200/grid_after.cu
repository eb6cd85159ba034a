// Barriers of whole grids in usual launches: once there was a cooperative launch, they have what such a barrier needs, too.
#include "common.h"
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void turned(int* d) { auto g = cg::this_grid(); int i = g.thread_rank(); d[i] += i; g.sync(); int v = d[g.size() - 1 - i]; g.sync(); d[i] = v + 1; }
__global__ void asks(int* d) { auto g = cg::this_grid(); if (threadIdx.x == 0 && blockIdx.x == 0) d[0] = g.is_valid(); if (g.is_valid()) g.sync(); }
__global__ void waits(int* d) { cg::this_grid().sync(); d[threadIdx.x] = 1; }
static void print(const char* what, int* d, int launched) {
    int waited = cudaDeviceSynchronize();
    std::vector<int> h(8192);
    int copied = cudaMemcpy(h.data(), d, 32768, cudaMemcpyDeviceToHost);
    printf("%s launch %d sync %d copy %d %d %016llx\n", what, launched, waited, copied, h[0], copied ? 0 : (unsigned long long)fnv(h.data(), 32768));
}
int main() {
    Buf<int> d(8192), e(8192);
    void *a[] = {&d.d}, *b[] = {&e.d};
    asks<<<4, 32>>>(d); print("usual", d, cudaGetLastError());
    int launched = cudaLaunchCooperativeKernel((void*)asks, 4, 32, a, 0, 0); print("cooperative", d, launched);
    asks<<<4, 32>>>(d); print("usual after", d, cudaGetLastError());
    asks<<<2, 32>>>(d); print("usual after, smaller", d, cudaGetLastError());
    asks<<<1, 32>>>(d); print("one block", d, cudaGetLastError());
    turned<<<4, 64>>>(d); print("coop, usual", d, cudaGetLastError());
    launched = cudaLaunchCooperativeKernel((void*)turned, 4, 64, b, 0, 0); print("cooperative", e, launched);
    waits<<<4, 32>>>(e); print("usual after", e, cudaGetLastError());
}
