// Structs by value, switch tables, function pointers, recursion and local
// arrays, kept out of line.
#include "device.h"
#define KEPT __device__ __attribute__((noinline))

struct Complex {
    float re, im;
};

KEPT Complex multiply(Complex a, Complex b)
{
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

extern "C" __global__ void powers(const Complex *z, Complex *out, int exponent)
{
    int i = BLOCK * BLOCK_SIZE + THREAD;
    Complex p = {1, 0};
    for (int k = 0; k < exponent; k++)
        p = multiply(p, z[i]);
    out[i] = p;
}

KEPT int gcd(int a, int b) { return b == 0 ? a : gcd(b, a % b); }
KEPT int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

extern "C" __global__ void calls(const int *a, const int *b, int *out)
{
    int i = BLOCK * BLOCK_SIZE + THREAD;
    out[2 * i] = gcd(a[i], b[i]);
    out[2 * i + 1] = fibonacci(a[i] & 15);
}

// A small stack machine: byte codes in constant memory, the stack in local memory.
extern "C" __global__ void stack_machine(const unsigned char *code, const long *input, long *out)
{
    long stack[16];
    int top = 0;
    int i = BLOCK * BLOCK_SIZE + THREAD;
    for (int pc = 0;; pc++) {
        switch (code[pc]) {
        case 0: out[i] = stack[top - 1]; return;
        case 1: stack[top++] = input[i]; break;
        case 2: stack[top++] = code[++pc]; break;
        case 3: top--; stack[top - 1] += stack[top]; break;
        case 4: top--; stack[top - 1] -= stack[top]; break;
        case 5: top--; stack[top - 1] *= stack[top]; break;
        case 6: stack[top] = stack[top - 1]; top++; break;
        case 7: top--; stack[top - 1] = stack[top] ? stack[top - 1] / stack[top] : 0; break;
        case 8: stack[top - 1] = -stack[top - 1]; break;
        case 9: top--; stack[top - 1] = stack[top - 1] < stack[top]; break;
        default: __builtin_trap();
        }
    }
}
