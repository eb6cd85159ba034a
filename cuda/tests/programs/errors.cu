// Faults by the letter of the first argument; prints what CUDA says before and after a reset.
#include <cassert>
#include <cstdio>
#include <cuda_runtime.h>

__global__ void store(int* p) { *p = 1; }
__global__ void fails(int k) { assert(k == 0); }
__global__ void traps() { asm("trap;"); }
__global__ void misaligned(char* p) { *(int*)(p + 1) = 1; }
__global__ void scale(float* data, float factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n) data[i] *= factor;
}

int main(int, char** arguments) {
    int* d;
    cudaMalloc(&d, 4000);
    switch (arguments[1][0]) {
        case 'n': store<<<1, 1>>>(nullptr); break;
        case 'a': fails<<<1, 1>>>(1); break;
        case 't': traps<<<1, 1>>>(); break;
        case 'm': misaligned<<<1, 1>>>((char*)d); break;
        case 'f': cudaFree(d); store<<<1, 1>>>(d); break;
        case 'o': scale<<<4, 256>>>((float*)d, 2, 1000); break;
        case 'l': store<<<1, 2000>>>(d); break;
    }
    // A fault may be seen at once or when it is waited for, an impossible launch only at once.
    int launch = arguments[1][0] == 'l' ? cudaGetLastError() : 0, synchronize = cudaDeviceSynchronize();
    int last = cudaGetLastError(), allocate = cudaMalloc(&d, 4);
    cudaDeviceReset();
    cudaGetLastError();
    int after = cudaMalloc(&d, 4);
    std::printf("%d %d %d %d %d\n", launch, synchronize, last, allocate, after);
    return 7;
}
