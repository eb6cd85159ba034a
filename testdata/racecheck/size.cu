// Accesses of different sizes.
#include "race.h"

//@ race mixed-size-race grid 2 block 1
extern "C" __global__ void byte_of_a_word(int* a, int* b) {
  if (blockIdx.x == 0) a[0] = 1;
  else ((char*)a)[2] = 1;
}

//@ race mixed-size-race grid 2 block 1
extern "C" __global__ void half_of_a_word(int* a, int* b) {
  if (blockIdx.x == 0) ((short*)a)[1] = 1;
  else b[0] = a[0];
}

//@ race mixed-size-race grid 2 block 1
extern "C" __global__ void atomics_of_two_sizes(int* a, int* b) {
  if (blockIdx.x == 0) atomicAdd((unsigned long long*)a, 1ull);
  else atomicAdd((unsigned*)a + 1, 1u);
}

//@ race mixed-size-race grid 1 block 64
extern "C" __global__ void eight_bytes_and_four(int* a, int* b) {
  __shared__ long long s[32];
  int t = threadIdx.x;
  if (t < 32) s[t] = t;
  else b[t] = ((int*)s)[2 * (t - 32) + 1];
}

//@ race mixed-size-race grid 1 block 32
extern "C" __global__ void bytes_and_halves_of_a_warp(int* a, int* b) {
  __shared__ short s[32];
  int t = threadIdx.x;
  s[t] = t;
  KEEP();
  b[t] = ((char*)s)[2 * (31 - t)];
}

//@ race mixed-size-race grid 2 block 1
extern "C" __global__ void flag_of_another_size(int* a, int* b) {
  volatile int* word = a;
  volatile char* byte = (volatile char*)a;
  if (blockIdx.x == 0) *byte = 1;
  else b[0] = *word;
}

//@ race data-race grid 2 block 1
extern "C" __global__ void vector_and_scalar(int* a, int* b) {
  // The elements of a vector are accesses by themselves: of one size here.
  if (blockIdx.x == 0) *(int4*)a = make_int4(1, 2, 3, 4);
  else b[0] = a[2];
}

//@ race data-race grid 2 block 1
extern "C" __global__ void same_byte(int* a, int* b) {
  ((char*)a)[5] = 1;
}

//@ clean grid 1 block 64
extern "C" __global__ void bytes_of_one_word(int* a, int* b) {
  char* bytes = (char*)a;
  bytes[threadIdx.x] = threadIdx.x;
  b[threadIdx.x] = bytes[threadIdx.x];
}

//@ clean grid 4 block 1
extern "C" __global__ void blocks_share_a_word_by_bytes(int* a, int* b) {
  char* bytes = (char*)a;
  for (int i = 0; i < 3; i++) bytes[blockIdx.x]++;
}

//@ clean grid 1 block 64
extern "C" __global__ void halves_of_one_word(int* a, int* b) {
  __shared__ short s[64];
  s[threadIdx.x] = threadIdx.x;
  __syncthreads();
  b[threadIdx.x] = s[63 - threadIdx.x];
}

//@ clean grid 1 block 64
extern "C" __global__ void words_then_bytes(int* a, int* b) {
  __shared__ int s[64];
  int t = threadIdx.x;
  s[t] = t;
  __syncthreads();
  b[t] = ((char*)s)[t];
  __syncthreads();
  ((short*)s)[t] = t;
}

//@ clean grid 2 block 32
extern "C" __global__ void vectors_side_by_side(int* a, int* b) {
  int i = blockIdx.x * 32 + threadIdx.x;
  int4 v = ((int4*)a)[i];
  ((int2*)b)[2 * i] = make_int2(v.x, v.y);
  ((int2*)b)[2 * i + 1] = make_int2(v.z, v.w);
}

//@ clean grid 2 block 64
extern "C" __global__ void eight_bytes_each(int* a, int* b) {
  int i = blockIdx.x * 64 + threadIdx.x;
  ((long long*)b)[i] = ((long long*)a)[i] + 1;
}

//@ clean grid 2 block 1
extern "C" __global__ void atomics_on_both_halves(int* a, int* b) {
  atomicAdd((unsigned*)a + blockIdx.x, 1u);
}
