// What compilers' options change: how code is embedded and how it looks, which stream the null stream is.
#include <cstdio>
#include <cuda_runtime.h>

__constant__ float table[4] = {1, 2, 3, 4};
__managed__ int managed = 5;
__device__ unsigned total;

struct Base {
    __device__ virtual float value(int i) const { return table[i]; }
};
struct Derived : Base {
    __device__ float value(int i) const override { return 10 * table[i]; }
};

__device__ float add(float a, float b) { return a + b; }
__device__ float multiply(float a, float b) { return a * b; }
typedef float (*Binary)(float, float);
__device__ Binary binaries[2] = {add, multiply};

template <typename T>
__device__ __noinline__ T power(T base, int exponent) {
    return exponent == 0 ? T(1) : base * power(base, exponent - 1);
}

__global__ void kernel(float* out, int which) {
    __shared__ float shared[4];
    int i = threadIdx.x;
    Base base;
    Derived derived;
    const Base* object = which ? &derived : &base;
    shared[i] = object->value(i);
    __syncthreads();
    out[i] = binaries[which](shared[3 - i], power(2.0f, i));
    atomicAdd(&total, 1u);
    if (i == 0) managed += which + 1;
}

#define CHECK(what) do { cudaError_t e = (what); if (e) { std::printf("%s: %s\n", #what, cudaGetErrorName(e)); return 1; } } while (0)

int main() {
    float* out;
    CHECK(cudaMalloc(&out, 64));
    for (int which = 0; which < 2; which++) {
        kernel<<<1, 4>>>(out, which);
        float values[4];
        CHECK(cudaMemcpy(values, out, sizeof values, cudaMemcpyDeviceToHost));
        for (int i = 0; i < 4; i++) {
            float a = (4 - i) * (which ? 10.0f : 1.0f), b = 1 << i;
            if (values[i] != (which ? a * b : a + b)) return std::printf("%d %d: %g\n", which, i, values[i]), 1;
        }
    }
    CHECK(cudaDeviceSynchronize());
    unsigned count;
    CHECK(cudaMemcpyFromSymbol(&count, total, sizeof count));
    if (count != 8 || managed != 8) return std::printf("%u %d\n", count, managed), 1;
    cudaFuncAttributes attributes;
    CHECK(cudaFuncGetAttributes(&attributes, kernel));
    std::printf("all good, PTX %d\n", attributes.ptxVersion);
}
