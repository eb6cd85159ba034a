// Many threads at few words, and words anywhere: what checking for races costs where histories are long.

// One word that everybody writes: ordinary stores (which race), and strong ones (which do not).
extern "C" __global__ void store_weak(const unsigned* x, unsigned* out) {
  if (x[blockIdx.x * 256 + threadIdx.x] != 0) *out = 1;
}
extern "C" __global__ void store_volatile(const unsigned* x, unsigned* out) {
  if (x[blockIdx.x * 256 + threadIdx.x] != 0) *(volatile unsigned*)out = 1;
}
extern "C" __global__ void store_relaxed(const unsigned* x, unsigned* out) {
  if (x[blockIdx.x * 256 + threadIdx.x] != 0) asm volatile("st.relaxed.gpu.u32 [%0], 1;" ::"l"(out) : "memory");
}
extern "C" __global__ void store_release(const unsigned* x, unsigned* out) {
  if (x[blockIdx.x * 256 + threadIdx.x] != 0) asm volatile("st.release.gpu.u32 [%0], 1;" ::"l"(out) : "memory");
}

// The same again and again.
extern "C" __global__ void store_often(const unsigned* x, unsigned* out) {
  unsigned v = x[blockIdx.x * 256 + threadIdx.x] != 0;
  for (int k = 0; k < 100; k++) *(volatile unsigned*)out = v;
}

// A word that everybody reads strongly and some write: the best value so far.
extern "C" __global__ void best_so_far(const unsigned* x, unsigned* out) {
  unsigned v = x[blockIdx.x * 256 + threadIdx.x] | 1;
  if (*(volatile unsigned*)out < v) atomicMax(out, v);
}

// A few words that everybody reads.
extern "C" __global__ void parameters(const unsigned* x, const unsigned* p, unsigned* out) {
  int i = blockIdx.x * 256 + threadIdx.x;
  unsigned v = x[i];
  for (int k = 0; k < 16; k++) v = v * p[k] + p[15 - k];
  out[i] = v;
}

// A level of a breadth-first search: every vertex looks at its neighbours, and says that something changed.
extern "C" __global__ void bfs_level(const unsigned* start, const unsigned* neighbour, unsigned* level, unsigned* changed, unsigned d) {
  int u = blockIdx.x * 256 + threadIdx.x;
  if (level[u] != d) return;
  for (unsigned e = start[u]; e < start[u + 1]; e++) {
    unsigned v = neighbour[e];
    if (level[v] == ~0u) {
      level[v] = d + 1;
      *changed = 1;
    }
  }
}

// The same with a list of the vertices reached, each entered once.
extern "C" __global__ void bfs_worklist(const unsigned* start, const unsigned* neighbour, unsigned* level, unsigned* list, unsigned* count, unsigned d) {
  int u = blockIdx.x * 256 + threadIdx.x;
  for (unsigned e = start[u]; e < start[u + 1]; e++) {
    unsigned v = neighbour[e];
    if (atomicCAS(&level[v], ~0u, d + 1) == ~0u) list[atomicAdd(count, 1u)] = v;
  }
}

// Shortest paths: distances are read as they are and lowered by atomics, which races.
extern "C" __global__ void relax_edges(const unsigned* start, const unsigned* neighbour, unsigned* distance, unsigned* changed) {
  int u = blockIdx.x * 256 + threadIdx.x;
  unsigned d = distance[u];
  for (unsigned e = start[u]; e < start[u + 1]; e++) {
    unsigned v = neighbour[e], next = d + 1 + (v & 7);
    if (distance[v] > next) {
      atomicMin(&distance[v], next);
      *changed = 1;
    }
  }
}

// Components: labels by atomics, read by relaxed loads.
extern "C" __global__ void least_label(const unsigned* start, const unsigned* neighbour, unsigned* label) {
  int u = blockIdx.x * 256 + threadIdx.x;
  for (unsigned e = start[u]; e < start[u + 1]; e++) {
    unsigned v = neighbour[e], a = *(volatile unsigned*)&label[u], b = *(volatile unsigned*)&label[v];
    if (a < b) atomicMin(&label[v], a);
    if (b < a) atomicMin(&label[u], b);
  }
}

// Sums of the neighbours' values.
extern "C" __global__ void neighbour_sums(const unsigned* start, const unsigned* neighbour, const unsigned* value, unsigned* out) {
  int u = blockIdx.x * 256 + threadIdx.x;
  unsigned sum = 0;
  for (unsigned e = start[u]; e < start[u + 1]; e++) sum += value[neighbour[e]];
  out[u] = sum;
}

// Words written anywhere, once each.
extern "C" __global__ void scatter(const unsigned* x, const unsigned* to, unsigned* out) {
  int i = blockIdx.x * 256 + threadIdx.x;
  out[to[i]] = x[i];
}

// A lock that the first thread of every block takes.
extern "C" __global__ void spin_lock(const unsigned* x, unsigned* lock, unsigned* out) {
  if (threadIdx.x == 0) {
    while (atomicCAS(lock, 0u, 1u) != 0) {}
    __threadfence();
    *out += x[blockIdx.x * 256];
    __threadfence();
    atomicExch(lock, 0u);
  }
}

// Each block waits for the one before it.
extern "C" __global__ void flag_chain(const unsigned* x, unsigned* flag, unsigned* sum) {
  if (threadIdx.x == 0) {
    unsigned before = 0, v;
    if (blockIdx.x > 0) {
      do asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(v) : "l"(flag + blockIdx.x - 1) : "memory"); while (v == 0);
      before = sum[blockIdx.x - 1];
    }
    sum[blockIdx.x] = before + x[blockIdx.x * 256];
    asm volatile("st.release.gpu.u32 [%0], 1;" ::"l"(flag + blockIdx.x) : "memory");
  }
}

// Everybody waits for a flag that one block raises.
extern "C" __global__ void polled_flag(const unsigned* x, unsigned* flag, unsigned* data, unsigned* out) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (blockIdx.x == gridDim.x - 1 && threadIdx.x == 0) {
    *data = x[0];
    __threadfence();
    *(volatile unsigned*)flag = 1;
  }
  if (threadIdx.x == 0) {
    while (*(volatile unsigned*)flag == 0) {}
    __threadfence();
  }
  __syncthreads();
  out[i] = x[i] + *data;
}

// All blocks meet ten times, and each reads what its neighbour wrote.
extern "C" __global__ void grid_barrier(const unsigned* x, unsigned* count, unsigned* a, unsigned* b, unsigned* out) {
  int i = blockIdx.x * 256 + threadIdx.x, n = gridDim.x * 256;
  unsigned v = x[i];
  for (unsigned round = 1; round <= 10; round++) {
    (round & 1 ? a : b)[i] = v;
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence();
      atomicAdd(count, 1u);
      while (*(volatile unsigned*)count < round * gridDim.x) {}
      __threadfence();
    }
    __syncthreads();
    v += (round & 1 ? a : b)[(i + 256) % n];
  }
  out[i] = v;
}
