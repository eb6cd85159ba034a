#include <cstdio>
#include <cuda_runtime.h>

__global__ void scale(float* data, float factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n) data[i] *= factor;
}

int main() {
    const int n = 1000;
    float* data;
    cudaMalloc(&data, n * sizeof(float));
    cudaMemset(data, 0, n * sizeof(float));
    scale<<<4, 256>>>(data, 2.0f, n);
    cudaError_t status = cudaDeviceSynchronize();
    printf("%s: %s\n", cudaGetErrorName(status), cudaGetErrorString(status));
    return status != cudaSuccess;
}
