// Threads that share memory: what checking for races costs on common patterns.

// Inclusive sum over a block, with two buffers in turn.
extern "C" __global__ void scan_buffers(const unsigned* x, unsigned* out) {
  __shared__ unsigned s[2][256];
  int t = threadIdx.x, i = blockIdx.x * 256 + t, from = 0;
  s[0][t] = x[i];
  __syncthreads();
  for (int d = 1; d < 256; d <<= 1) {
    s[from ^ 1][t] = t >= d ? s[from][t] + s[from][t - d] : s[from][t];
    from ^= 1;
    __syncthreads();
  }
  out[i] = s[from][t];
}

// Exclusive sum over a block by a tree.
extern "C" __global__ void scan_tree(const unsigned* x, unsigned* out) {
  __shared__ unsigned s[256];
  int t = threadIdx.x, i = blockIdx.x * 256 + t;
  s[t] = x[i];
  for (int d = 1; d < 256; d <<= 1) {
    __syncthreads();
    int at = (t + 1) * d * 2 - 1;
    if (at < 256) s[at] += s[at - d];
  }
  __syncthreads();
  if (t == 0) s[255] = 0;
  for (int d = 128; d > 0; d >>= 1) {
    __syncthreads();
    int at = (t + 1) * d * 2 - 1;
    if (at < 256) {
      unsigned left = s[at - d];
      s[at - d] = s[at];
      s[at] += left;
    }
  }
  __syncthreads();
  out[i] = s[t];
}

// A square matrix, in tiles of 32 by 32 and blocks of 32 by 8.
extern "C" __global__ void transpose(const unsigned* x, unsigned* out, int n) {
  __shared__ unsigned tile[32][33];
  int tx = threadIdx.x, ty = threadIdx.y;
  int bx = blockIdx.x % (n / 32) * 32, by = blockIdx.x / (n / 32) * 32;
  for (int k = 0; k < 32; k += 8) tile[ty + k][tx] = x[(by + ty + k) * n + bx + tx];
  __syncthreads();
  for (int k = 0; k < 32; k += 8) out[(bx + ty + k) * n + by + tx] = tile[tx][ty + k];
}

// Sums of nine neighbours in a row, which wraps around.
extern "C" __global__ void stencil_row(const unsigned* x, unsigned* out, int n) {
  __shared__ unsigned s[256 + 8];
  int t = threadIdx.x, i = blockIdx.x * 256 + t;
  s[t + 4] = x[i];
  if (t < 4) {
    s[t] = x[(i + n - 4) % n];
    s[t + 260] = x[(i + 256) % n];
  }
  __syncthreads();
  unsigned sum = 0;
  for (int k = 0; k < 9; k++) sum += s[t + k];
  out[i] = sum;
}

// Sums of five neighbours in a square that wraps around, blocks of 16 by 16.
extern "C" __global__ void stencil_square(const unsigned* x, unsigned* out, int n) {
  __shared__ unsigned s[18][18];
  int tx = threadIdx.x, ty = threadIdx.y;
  int gx = blockIdx.x % (n / 16) * 16 + tx, gy = blockIdx.x / (n / 16) * 16 + ty;
  s[ty + 1][tx + 1] = x[gy * n + gx];
  if (ty == 0) s[0][tx + 1] = x[(gy + n - 1) % n * n + gx];
  if (ty == 15) s[17][tx + 1] = x[(gy + 1) % n * n + gx];
  if (tx == 0) s[ty + 1][0] = x[gy * n + (gx + n - 1) % n];
  if (tx == 15) s[ty + 1][17] = x[gy * n + (gx + 1) % n];
  __syncthreads();
  out[gy * n + gx] = s[ty + 1][tx + 1] + s[ty][tx + 1] + s[ty + 2][tx + 1] + s[ty + 1][tx] + s[ty + 1][tx + 2];
}

// Counts of bytes, in shared memory first.
extern "C" __global__ void histogram(const unsigned* x, unsigned* bins, int n) {
  __shared__ unsigned s[256];
  int t = threadIdx.x;
  s[t] = 0;
  __syncthreads();
  for (int i = blockIdx.x * 256 + t; i < n; i += gridDim.x * 256) atomicAdd(&s[x[i] >> 8 & 255], 1u);
  __syncthreads();
  atomicAdd(&bins[t], s[t]);
}

// A sum; the block that is last adds up what the blocks left.
extern "C" __global__ void last_block(const unsigned* x, unsigned* parts, unsigned* count, unsigned* out) {
  __shared__ unsigned s[256];
  __shared__ bool last;
  int t = threadIdx.x;
  s[t] = x[blockIdx.x * 256 + t];
  __syncthreads();
  for (int d = 128; d > 0; d >>= 1) {
    if (t < d) s[t] += s[t + d];
    __syncthreads();
  }
  if (t == 0) {
    parts[blockIdx.x] = s[0];
    __threadfence();
    last = atomicAdd(count, 1u) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  if (!last) return;
  unsigned sum = 0;
  for (int i = t; i < gridDim.x; i += 256) sum += parts[i];
  s[t] = sum;
  __syncthreads();
  for (int d = 128; d > 0; d >>= 1) {
    if (t < d) s[t] += s[t + d];
    __syncthreads();
  }
  if (t == 0) *out = s[0];
}

// Sums of blocks by shuffles, one word of shared memory a warp.
extern "C" __global__ void sum_shuffles(const unsigned* x, unsigned* out) {
  __shared__ unsigned s[8];
  int t = threadIdx.x;
  unsigned v = x[blockIdx.x * 256 + t];
  for (int d = 16; d > 0; d >>= 1) v += __shfl_down_sync(~0u, v, d);
  if (t % 32 == 0) s[t / 32] = v;
  __syncthreads();
  if (t < 32) {
    v = t < 8 ? s[t] : 0;
    for (int d = 4; d > 0; d >>= 1) v += __shfl_down_sync(~0u, v, d);
    if (t == 0) out[blockIdx.x] = v;
  }
}

// Sums of warps in shared memory, with __syncwarp between the steps.
extern "C" __global__ void sum_syncwarp(const unsigned* x, unsigned* out) {
  __shared__ unsigned s[256];
  int t = threadIdx.x, lane = t % 32;
  unsigned v = x[blockIdx.x * 256 + t];
  s[t] = v;
  for (int d = 16; d > 0; d >>= 1) {
    __syncwarp();
    unsigned other = lane < d ? s[t + d] : 0;
    __syncwarp();
    v += other;
    s[t] = v;
  }
  if (lane == 0) out[blockIdx.x * 8 + t / 32] = v;
}

// Sorts the 512 elements of a block.
extern "C" __global__ void bitonic(const unsigned* x, unsigned* out) {
  __shared__ unsigned s[512];
  int t = threadIdx.x, base = blockIdx.x * 512;
  s[t] = x[base + t];
  s[t + 256] = x[base + t + 256];
  for (int k = 2; k <= 512; k <<= 1) {
    for (int j = k >> 1; j > 0; j >>= 1) {
      __syncthreads();
      int a = 2 * t - (t & (j - 1)), b = a + j;
      unsigned u = s[a], v = s[b];
      if ((u > v) == ((a & k) == 0)) {
        s[a] = v;
        s[b] = u;
      }
    }
  }
  __syncthreads();
  out[base + t] = s[t];
  out[base + t + 256] = s[t + 256];
}

// A product of matrices whose size is no multiple of the tile's, so that the last tiles diverge.
extern "C" __global__ void tiled_edges(const unsigned* a, const unsigned* b, unsigned* c, int n) {
  __shared__ unsigned as[16][16], bs[16][16];
  int tx = threadIdx.x, ty = threadIdx.y, tiles = (n + 15) / 16;
  int row = blockIdx.x / tiles * 16 + ty, col = blockIdx.x % tiles * 16 + tx;
  unsigned sum = 0;
  for (int t = 0; t < tiles; t++) {
    int k = t * 16;
    if (row < n && k + tx < n) as[ty][tx] = a[row * n + k + tx];
    else as[ty][tx] = 0;
    if (col < n && k + ty < n) bs[ty][tx] = b[(k + ty) * n + col];
    else bs[ty][tx] = 0;
    __syncthreads();
    for (int i = 0; i < 16; i++) sum += as[ty][i] * bs[i][tx];
    __syncthreads();
  }
  if (row < n && col < n) c[row * n + col] = sum;
}

// Very small blocks.
extern "C" __global__ void small_blocks(const unsigned* x, unsigned* out) {
  int i = blockIdx.x * 32 + threadIdx.x;
  out[i] = x[i] * 3 + 1;
}

// Sixteen bytes a thread.
extern "C" __global__ void vectors(const uint4* x, uint4* out) {
  int i = blockIdx.x * 256 + threadIdx.x;
  uint4 v = x[i];
  out[i] = make_uint4(v.x + 1, v.y + 2, v.z + 3, v.w + 4);
}

// Eight bytes a thread.
extern "C" __global__ void doubles(const double* x, double* out) {
  int i = blockIdx.x * 256 + threadIdx.x;
  out[i] = x[i] * 2.0 + 1.0;
}

// A byte a thread.
extern "C" __global__ void bytes(const unsigned char* x, unsigned char* out) {
  int i = blockIdx.x * 256 + threadIdx.x;
  out[i] = x[i] ^ 0x55;
}

// Words of a table, anywhere.
extern "C" __global__ void gather(const unsigned* x, const unsigned* table, unsigned* out) {
  int i = blockIdx.x * 256 + threadIdx.x;
  unsigned v = x[i], sum = 0;
  for (int k = 0; k < 8; k++) {
    sum += table[v & 65535];
    v = v * 1664525u + 1013904223u;
  }
  out[i] = sum;
}

// Each thread a row of its own: no two lanes are neighbours.
extern "C" __global__ void rows(const unsigned* x, unsigned* out, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  unsigned sum = 0;
  for (int k = 0; k < n; k++) sum += x[i * n + k];
  out[i] = sum;
}

// Counts in global memory.
extern "C" __global__ void global_counts(const unsigned* x, unsigned* bins) {
  int i = blockIdx.x * 256 + threadIdx.x;
  atomicAdd(&bins[x[i] >> 4 & 4095], 1u);
}

struct pair {
  unsigned first, second;
};

// Structures of two words, field by field: lanes' elements lie apart.
extern "C" __global__ void fields(const pair* x, pair* out) {
  int i = blockIdx.x * 256 + threadIdx.x;
  out[i].first = x[i].first * 3 + x[i].second;
  out[i].second = x[i].first ^ x[i].second;
}

// One table that all threads read, element by element.
extern "C" __global__ void weights(const unsigned* x, const unsigned* weight, unsigned* out, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  unsigned sum = 0, v = x[i];
  for (int k = 0; k < n; k++) sum += weight[k] * v + (sum >> 7);
  out[i] = sum;
}
