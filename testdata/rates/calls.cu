// Calls that stay calls, and arrays that stay in local memory.

__device__ __noinline__ unsigned mix(unsigned x, unsigned k) {
  x ^= x << 13; x ^= x >> 17; x ^= x << 5;
  return x * 1664525u + k;
}

__device__ __noinline__ unsigned stir(unsigned x, unsigned k) {
  x += x << 3; x ^= x >> 11; x += x << 15;
  return x * 22695477u + k;
}

extern "C" __global__ void calls(unsigned* out, int steps) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned x = i + 1u;
#pragma unroll 1
  for (int k = 0; k < steps; k++) x = mix(x, k);
  out[i] = x;
}

// Through a pointer, the same one for a warp.
typedef unsigned (*Function)(unsigned, unsigned);
__device__ Function functions[2] = {mix, stir};

extern "C" __global__ void pointers(unsigned* out, int steps) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned x = i + 1u;
#pragma unroll 1
  for (int k = 0; k < steps; k++) x = functions[k & 1](x, k);
  out[i] = x;
}

// Half the lanes call one function, half the other.
extern "C" __global__ void pointers_divergent(unsigned* out, int steps) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned x = i + 1u;
#pragma unroll 1
  for (int k = 0; k < steps; k++) x = functions[(k + i) & 1](x, k);
  out[i] = x;
}

__device__ __noinline__ unsigned climb(unsigned x, unsigned depth) {
  if (depth == 0) return x;
  return climb(x * 3u + depth, depth - 1) ^ depth;
}

extern "C" __global__ void recursion(unsigned* out, int steps) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned x = i + 1u;
#pragma unroll 1
  for (int k = 0; k < steps; k++) x = climb(x, 7);
  out[i] = x;
}

// The same element in all lanes.
extern "C" __global__ void local_uniform(unsigned* out, int steps) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  volatile unsigned a[64];
#pragma unroll 1
  for (int k = 0; k < 64; k++) a[k] = i + k;
#pragma unroll 1
  for (int k = 0; k < steps; k++) a[(k + 1) & 63] = a[k & 63] * 1664525u + 1013904223u;
  out[i] = a[steps & 63];
}

// Another element in each lane.
extern "C" __global__ void local_scattered(unsigned* out, int steps) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  volatile unsigned a[64];
#pragma unroll 1
  for (int k = 0; k < 64; k++) a[k] = i + k;
  unsigned x = i;
#pragma unroll 1
  for (int k = 0; k < steps; k++) {
    x = a[x & 63] * 1664525u + 1013904223u;
    a[(x >> 8) & 63] = x;
  }
  out[i] = x;
}

// Bytes, and 8 bytes a lane.
extern "C" __global__ void local_bytes(unsigned* out, int steps) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  volatile unsigned char a[64];
#pragma unroll 1
  for (int k = 0; k < 64; k++) a[k] = (unsigned char)(i + k);
#pragma unroll 1
  for (int k = 0; k < steps; k++) a[(k + 1) & 63] = (unsigned char)(a[k & 63] * 5u + 3u);
  out[i] = a[steps & 63];
}

extern "C" __global__ void local_double(double* out, int steps) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  volatile double a[64];
#pragma unroll 1
  for (int k = 0; k < 64; k++) a[k] = i + k;
#pragma unroll 1
  for (int k = 0; k < steps; k++) a[(k + 1) & 63] = a[k & 63] * 0.5 + 1.0;
  out[i] = a[steps & 63];
}
