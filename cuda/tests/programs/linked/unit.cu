#include "unit.cuh"

__device__ int counter = 3;
__constant__ float factors[4] = {1, 2, 4, 8};
__managed__ int managed = 11;
// The same name in both units, with values of their own.
static __device__ int hidden = 100;

__device__ float scaled(float x, int which) { return x * factors[which]; }
__device__ int apply(int (*function)(int), int value) { return function(value) + hidden; }

struct Square : Shape {
    float side;
    __device__ Square(float side) : side(side) {}
    __device__ float area() const override { return side * side; }
};

__device__ Shape* make_square(float side) { return new Square(side); }

__global__ void of_unit(int* out) {
    atomicAdd(&counter, 1);
    out[threadIdx.x] = hidden + managed;
}
