// What real programs spend their time on and the yardstick has little of: atomics to few addresses,
// histograms, scattered access, half-empty warps, warps that wait for warps, small launches.

// Every thread adds what it reads to one number: a reduction without shared memory.
extern "C" __global__ void sum_atomics(const unsigned* x, unsigned* out, unsigned n) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(out, x[i]);
}

// Sums and extremes of 16 groups.
extern "C" __global__ void group_extremes(const unsigned* x, unsigned* out, unsigned n) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    unsigned group = x[i] & 15u;
    atomicMax(&out[group], x[i] >> 4);
    atomicMin(&out[16 + group], x[i] >> 4);
  }
}

// 256 bins in shared memory, merged into global memory.
extern "C" __global__ void histogram_shared(const unsigned* x, unsigned* out, unsigned n) {
  __shared__ unsigned bins[256];
  bins[threadIdx.x] = 0;
  __syncthreads();
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    unsigned v = x[i];
    atomicAdd(&bins[v & 255u], 1u);
    atomicAdd(&bins[v >> 8 & 255u], 1u);
    atomicAdd(&bins[v >> 16 & 255u], 1u);
    atomicAdd(&bins[v >> 24], 1u);
  }
  __syncthreads();
  atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
}

// 65,536 bins in global memory.
extern "C" __global__ void histogram_global(const unsigned* x, unsigned* out, unsigned n) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&out[x[i] & 65535u], 1u);
}

// A permutation: gathers, then scatters.
extern "C" __global__ void permute(const unsigned* x, const unsigned* from, const unsigned* to, unsigned* out,
                                   unsigned n) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    out[to[i]] = x[from[i]];
}

// Rows of a sparse matrix, a thread each; lengths differ, so few lanes are left at the end.
extern "C" __global__ void sparse_rows(const unsigned* starts, const unsigned* columns, const float* values,
                                       const float* x, float* out, unsigned rows) {
  unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0;
  for (unsigned k = starts[row]; k < starts[row + 1]; k++) sum += values[k] * x[columns[k]];
  out[row] = sum;
}

// One warp fills a buffer in shared memory, three use it; named barriers hand it over and back.
extern "C" __global__ void warp_pipeline(const unsigned* x, unsigned* out, unsigned steps) {
  __shared__ unsigned buffer[2][96];
  unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const unsigned* mine = x + blockIdx.x * steps * 96;
  if (warp == 0) {
    for (unsigned step = 0; step < steps; step++) {
      unsigned slot = step & 1;
      if (step >= 2) asm volatile("barrier.sync %0, 128;" : : "r"(3 + slot) : "memory");
      for (unsigned k = lane; k < 96; k += 32) buffer[slot][k] = mine[step * 96 + k];
      asm volatile("barrier.arrive %0, 128;" : : "r"(1 + slot) : "memory");
    }
  } else {
    unsigned sum = 0;
    for (unsigned step = 0; step < steps; step++) {
      unsigned slot = step & 1;
      asm volatile("barrier.sync %0, 128;" : : "r"(1 + slot) : "memory");
      sum = sum * 3u + buffer[slot][threadIdx.x - 32];
      if (step + 2 < steps) asm volatile("barrier.arrive %0, 128;" : : "r"(3 + slot) : "memory");
    }
    out[blockIdx.x * 96 + threadIdx.x - 32] = sum;
  }
}

// One step of a small iteration: launched again and again with few blocks.
extern "C" __global__ void small_step(const float* x, float* out, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float left = i > 0 ? x[i - 1] : 0.0f, right = i + 1 < n ? x[i + 1] : 0.0f;
  out[i] = 0.25f * left + 0.5f * x[i] + 0.25f * right;
}
