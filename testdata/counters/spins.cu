// Atomic operations on shared memory that ptxas makes loops around a compare-and-swap of: how often which lanes go around.
// Lane i of a block is at word place[i] and brings value[i].
template <typename T, typename Do> __device__ void at_words(T *out, T *words, int count, Do &&change) {
  for (int i = threadIdx.x; i < count; i += blockDim.x) words[i] = T(0);
  __syncthreads();
  change();
  __syncthreads();
  for (int i = threadIdx.x; i < count; i += blockDim.x) out[blockIdx.x * count + i] = words[i];
}

extern "C" __global__ void add_float(float *out, const unsigned *place, const float *value, int count) {
  extern __shared__ float floats[];
  unsigned p = place[threadIdx.x];
  float v = value[threadIdx.x];
  at_words(out, floats, count, [&] { atomicAdd(&floats[p], v); });
}

extern "C" __global__ void add_float_with_result(float *out, const unsigned *place, const float *value, int count) {
  extern __shared__ float floats[];
  unsigned p = place[threadIdx.x];
  float v = value[threadIdx.x], was = 0;
  at_words(out, floats, count, [&] { was = atomicAdd(&floats[p], v); });
  if (was < 0) out[0] = was;
}

extern "C" __global__ void add_double(double *out, const unsigned *place, const float *value, int count) {
  extern __shared__ double doubles[];
  unsigned p = place[threadIdx.x];
  double v = value[threadIdx.x];
  at_words(out, doubles, count, [&] { atomicAdd(&doubles[p], v); });
}

extern "C" __global__ void max_long(long long *out, const unsigned *place, const float *value, int count) {
  extern __shared__ long long longs[];
  unsigned p = place[threadIdx.x];
  long long v = (long long)(value[threadIdx.x] * 1000);
  at_words(out, longs, count, [&] { atomicMax(&longs[p], v); });
}

extern "C" __global__ void add_long(unsigned long long *out, const unsigned *place, const float *value, int count) {
  extern __shared__ unsigned long long unsigned_longs[];
  unsigned p = place[threadIdx.x];
  unsigned long long v = (unsigned long long)(value[threadIdx.x] * 1000);
  at_words(out, unsigned_longs, count, [&] { atomicAdd(&unsigned_longs[p], v); });
}

// A turn after the other, at words that follow each other.
extern "C" __global__ void add_float_often(float *out, const unsigned *place, const float *value, int count, int times) {
  extern __shared__ float floats[];
  unsigned p = place[threadIdx.x];
  float v = value[threadIdx.x];
  at_words(out, floats, count, [&] {
    for (int i = 0; i < times; i++) {
      atomicAdd(&floats[p], v);
      p = (p + 1) % count;
    }
  });
}

// The same loop as the program has it.
extern "C" __global__ void add_float_by_hand(float *out, const unsigned *place, const float *value, int count) {
  extern __shared__ float floats[];
  unsigned p = place[threadIdx.x];
  float v = value[threadIdx.x];
  at_words(out, floats, count, [&] {
    unsigned *word = reinterpret_cast<unsigned *>(&floats[p]), was = *word, compared;
    do {
      compared = was;
      was = atomicCAS(word, compared, __float_as_uint(v + __uint_as_float(compared)));
    } while (compared != was);
  });
}
