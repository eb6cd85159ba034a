// What the two units share: variables, functions and a class that are defined in the other unit.
#pragma once

extern __device__ int counter;
extern __constant__ float factors[4];
extern __managed__ int managed;
__device__ float scaled(float x, int which);
__device__ int apply(int (*function)(int), int value);

struct Shape {
    __device__ virtual float area() const = 0;
    __device__ virtual ~Shape() {}
};

__device__ Shape* make_square(float side);
__global__ void of_unit(int* out);
