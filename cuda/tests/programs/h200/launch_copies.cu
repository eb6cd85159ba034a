// Copies and fills that kernels ask for, of one, two and three dimensions. The device runtime of CUDA 13.0 fills with zeros
// whatever value it is given.
#include "common.h"
__device__ cudaPitchedPtr pitched(void* p, size_t pitch, size_t x, size_t y) { cudaPitchedPtr r; r.ptr = p; r.pitch = pitch; r.xsize = x; r.ysize = y; return r; }
__device__ cudaExtent extent(size_t w, size_t h, size_t d) { cudaExtent r; r.width = w; r.height = h; r.depth = d; return r; }
__global__ void lines(char* to, const char* from, int* s) {
    int n = 0;
    s[n++] = cudaMemcpyAsync(to, from, 256, cudaMemcpyDeviceToDevice, 0);
    s[n++] = cudaMemcpyAsync(to + 1003, from + 11, 777, cudaMemcpyDeviceToDevice, 0);
    s[n++] = cudaMemcpyAsync(to + 2048, from + 512, 4096, cudaMemcpyDefault, 0);
    s[n++] = cudaMemsetAsync(to + 2100, 0x5a, 100, 0);
    s[n++] = cudaMemsetAsync(to + 4001, -1, 1501, 0);
    s[n++] = cudaMemcpyAsync(to + 7000, to + 2000, 1000, cudaMemcpyDeviceToDevice, 0);
    s[n++] = -1;
}
__global__ void boxes(char* to, const char* from, int* s) {
    int n = 0;
    s[n++] = cudaMemcpy2DAsync(to, 64, from, 48, 37, 9, cudaMemcpyDeviceToDevice, 0);
    s[n++] = cudaMemset2DAsync(to + 70, 64, 0x180, 13, 5, 0);
    s[n++] = cudaMemcpy2DAsync(to + 1024, 32, from + 1024, 32, 32, 16, cudaMemcpyDeviceToDevice, 0);
    cudaMemcpy3DParms p = {};
    p.srcPtr = pitched((void*)from, 40, 40, 6);
    p.dstPtr = pitched(to + 3000, 24, 24, 7);
    p.srcPos.x = 3; p.srcPos.y = 1; p.srcPos.z = 1; p.dstPos.x = 2; p.dstPos.y = 2; p.dstPos.z = 0;
    p.extent = extent(11, 4, 3);
    p.kind = cudaMemcpyDeviceToDevice;
    s[n++] = cudaMemcpy3DAsync(&p, 0);
    s[n++] = cudaMemset3DAsync(pitched(to + 6000, 32, 32, 4), 7, extent(9, 3, 2), 0);
    s[n++] = cudaMemcpy2DAsync(to, 8, from, 48, 37, 9, cudaMemcpyDeviceToDevice, 0);
    s[n++] = cudaMemcpy2DAsync(to, 64, from, 8, 37, 9, cudaMemcpyDeviceToDevice, 0);
    s[n++] = cudaMemset2DAsync(to, 8, 0, 37, 9, 0);
    s[n++] = cudaMemcpy2DAsync(to, 64, from, 48, 0, 9, cudaMemcpyDeviceToDevice, 0);
    s[n++] = cudaMemcpy2DAsync(nullptr, 64, from, 48, 5, 9, cudaMemcpyDeviceToDevice, 0);
    p.dstPtr.ptr = nullptr;
    s[n++] = cudaMemcpy3DAsync(&p, 0);
    s[n++] = cudaMemcpy2DAsync(to, 64, from, 48, 5, 9, cudaMemcpyDeviceToHost, 0);
    s[n++] = -1;
}
static void list(const char* name, Buf<int>& s) {
    CK(cudaDeviceSynchronize());
    printf("%s", name);
    for (int x : s.get()) { if (x < 0) break; printf(" %d", x); }
    printf("\n");
}
int main() {
    std::vector<char> a(10000), b(10000);
    for (int i = 0; i < 10000; i++) a[i] = i * 7 + 3, b[i] = i * 5 + i / 256 + 1;
    { Buf<char> to(a), from(b); Buf<int> s(20); lines<<<1, 1>>>(to, from, s); list("lines", s); show("to", to); show("from", from); }
    { Buf<char> to(a), from(b); Buf<int> s(20); boxes<<<1, 1>>>(to, from, s); list("boxes", s); show("to", to); show("from", from); }
}
