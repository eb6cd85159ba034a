// Two units linked with `-rdc=true`: functions, variables, kernels, function pointers and virtual functions across them.
#include <cstdio>
#include <cuda_runtime.h>
#include "unit.cuh"

static __device__ int hidden = 7;
static __device__ int twice(int x) { return 2 * x; }
static __device__ int square(int x) { return x * x; }
static __device__ int (*functions[2])(int) = {twice, square};

__global__ void of_main(float* out, int* whole) {
    int i = threadIdx.x;
    out[i] = scaled(1.5f, i);
    whole[i] = apply(functions[i & 1], i) + hidden;
    if (i == 0) {
        Shape* shape = make_square(3);
        out[4] = shape->area();
        delete shape;
    }
}

#define CHECK(what) do { cudaError_t e = (what); if (e) { std::printf("%s: %s\n", #what, cudaGetErrorName(e)); return 1; } } while (0)
#define EXPECT(what) do { if (!(what)) { std::printf("line %d: not %s\n", __LINE__, #what); return 1; } } while (0)

int main() {
    float* out;
    int* whole;
    CHECK(cudaMalloc(&out, 64));
    CHECK(cudaMalloc(&whole, 64));
    of_main<<<1, 4>>>(out, whole);
    CHECK(cudaDeviceSynchronize());
    float values[5];
    int numbers[4], count;
    CHECK(cudaMemcpy(values, out, sizeof values, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(numbers, whole, sizeof numbers, cudaMemcpyDeviceToHost));
    EXPECT(values[0] == 1.5f && values[1] == 3 && values[2] == 6 && values[3] == 12 && values[4] == 9);
    EXPECT(numbers[0] == 107 && numbers[1] == 108 && numbers[2] == 111 && numbers[3] == 116);
    managed = 20;
    of_unit<<<1, 4>>>(whole);
    CHECK(cudaMemcpy(numbers, whole, sizeof numbers, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpyFromSymbol(&count, counter, sizeof count));
    EXPECT(numbers[3] == 120 && count == 7);
    std::puts("all good");
}
