// The same work convergent and divergent: `shift` 5 sends whole warps to one side of every branch,
// 0 half the lanes of every warp to each.

// Sides of eight instructions.
extern "C" __global__ void long_sides(unsigned* out, int steps, int shift) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned x = i + 1u;
#pragma unroll 1
  for (int k = 0; k < steps; k++) {
    if (((threadIdx.x >> shift) + k) & 1) {
      x ^= x << 13; x ^= x >> 17; x ^= x << 5;
      x = x * 1664525u + 1013904223u;
    } else {
      x += x << 3; x ^= x >> 11; x += x << 15;
      x = x * 22695477u + 1u;
    }
  }
  out[i] = x;
}

// Sides of two instructions, which the compiler must not turn into a selection.
extern "C" __global__ void short_sides(unsigned* out, int steps, int shift) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned x = i + 1u;
#pragma unroll 1
  for (int k = 0; k < steps; k++) {
    if (((threadIdx.x >> shift) + k) & 1)
      asm volatile("add.u32 %0, %0, 12345;\n\txor.b32 %0, %0, 777;" : "+r"(x));
    else
      asm volatile("sub.u32 %0, %0, 54321;\n\txor.b32 %0, %0, 999;" : "+r"(x));
  }
  out[i] = x;
}

// Loops that half the lanes leave early, then join the others again.
extern "C" __global__ void loops(unsigned* out, int steps, int shift) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned x = i + 1u;
#pragma unroll 1
  for (int k = 0; k < steps; k++) {
    int turns = ((threadIdx.x >> shift) & 1) ? 12 : 4;
#pragma unroll 1
    for (int t = 0; t < turns; t++) asm volatile("mad.lo.u32 %0, %0, 1664525, %1;" : "+r"(x) : "r"(t));
    x ^= x >> 16;
  }
  out[i] = x;
}
