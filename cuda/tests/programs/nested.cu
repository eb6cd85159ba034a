// Dynamic parallelism, which is not supported and said so by name.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void child(int* out) { *out = 1; }
__global__ void parent(int* out) { child<<<1, 1>>>(out); }

int main() {
    int* out;
    cudaMalloc(&out, 4);
    parent<<<1, 1>>>(out);
    cudaError_t status = cudaDeviceSynchronize();
    std::printf("%s\n", cudaGetErrorName(status));
    return status != cudaSuccess;
}
