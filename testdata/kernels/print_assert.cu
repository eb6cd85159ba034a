// Formatted printing and assertions from device code.

#include <cassert>
#include <cstdio>

struct Point {
    int x, y;
};

extern "C" __global__ void print_values(const int *values, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i == 0) {
        printf("plain text, 100%%\n");
        printf("[%5d|%-5d|%05d|%+d|%x|%#X|%o|%u]\n", 42, 42, 42, 42, 255, 255, 8, 4294967295u);
        printf("[%lld %llu %llx %ld %hd %c %s %p]\n", -1234567890123LL, 18446744073709551615ULL,
               0x123456789abcdefULL, -5L, (short)7, 'z', "text", (void *)0x10);
        printf("[%f %.3f %10.2e %g %a %*d]\n", 1.5, 3.14159, 12345.678, 0.0001, 1.0, 6, 99);
    }
    if (i < n)
        printf("thread %d of block %d holds %d\n", threadIdx.x, blockIdx.x, values[i]);
}

extern "C" __global__ void assert_positive(const int *values, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        assert(values[i] > 0 && "values must be positive");
}

extern "C" __global__ void trap_on_negative(const int *values, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && values[i] < 0)
        __trap();
}
