// Every lane of every warp updates one address, `turns` times: a word of global memory, or a word of
// each block's shared memory, which starts as `cells[block]` and ends there.

// The value that a thread gives.
#define VALUE(T) (T)(i * 7u % 61u + 1u)

// No result is wanted.
#define RED(NAME, OP, T, C)                                                                   \
  extern "C" __global__ void global_red_##NAME(T* cells, T* out, int turns) {                 \
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;                                       \
    T v = VALUE(T);                                                                        \
    _Pragma("unroll 1") for (int turn = 0; turn < turns; turn++)                              \
      asm volatile("red.global." OP " [%0], %1;" : : "l"(cells), C(v) : "memory");            \
    out[i] = v;                                                                               \
  }                                                                                           \
  extern "C" __global__ void shared_red_##NAME(T* cells, T* out, int turns) {                 \
    __shared__ T cell;                                                                        \
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;                                       \
    unsigned at = (unsigned)__cvta_generic_to_shared(&cell);                                  \
    if (threadIdx.x == 0) cell = cells[blockIdx.x];                                           \
    __syncthreads();                                                                          \
    T v = VALUE(T);                                                                        \
    _Pragma("unroll 1") for (int turn = 0; turn < turns; turn++)                              \
      asm volatile("red.shared." OP " [%0], %1;" : : "r"(at), C(v) : "memory");               \
    out[i] = v;                                                                               \
    __syncthreads();                                                                          \
    if (threadIdx.x == 0) cells[blockIdx.x] = cell;                                           \
  }

// The sum of the old values is kept.
#define ATOM(NAME, OP, T, C)                                                                  \
  extern "C" __global__ void global_atom_##NAME(T* cells, T* out, int turns) {                \
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;                                       \
    T v = VALUE(T), sum = 0, old;                                                          \
    _Pragma("unroll 1") for (int turn = 0; turn < turns; turn++) {                            \
      asm volatile("atom.global." OP " %0, [%1], %2;" : "=" C(old) : "l"(cells), C(v) : "memory"); \
      sum += old;                                                                             \
    }                                                                                         \
    out[i] = sum;                                                                             \
  }                                                                                           \
  extern "C" __global__ void shared_atom_##NAME(T* cells, T* out, int turns) {                \
    __shared__ T cell;                                                                        \
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;                                       \
    unsigned at = (unsigned)__cvta_generic_to_shared(&cell);                                  \
    if (threadIdx.x == 0) cell = cells[blockIdx.x];                                           \
    __syncthreads();                                                                          \
    T v = VALUE(T), sum = 0, old;                                                          \
    _Pragma("unroll 1") for (int turn = 0; turn < turns; turn++) {                            \
      asm volatile("atom.shared." OP " %0, [%1], %2;" : "=" C(old) : "r"(at), C(v) : "memory"); \
      sum += old;                                                                             \
    }                                                                                         \
    out[i] = sum;                                                                             \
    __syncthreads();                                                                          \
    if (threadIdx.x == 0) cells[blockIdx.x] = cell;                                           \
  }

#define BOTH(NAME, OP, T, C) RED(NAME, OP, T, C) ATOM(NAME, OP, T, C)

BOTH(add_u32, "add.u32", unsigned, "r")
BOTH(add_u64, "add.u64", unsigned long long, "l")
BOTH(add_f32, "add.f32", float, "f")
BOTH(add_f64, "add.f64", double, "d")
BOTH(max_u32, "max.u32", unsigned, "r")
BOTH(min_s32, "min.s32", unsigned, "r")
BOTH(or_b32, "or.b32", unsigned, "r")
BOTH(max_u64, "max.u64", unsigned long long, "l")
BOTH(inc_u32, "inc.u32", unsigned, "r")
ATOM(exch_b32, "exch.b32", unsigned, "r")
ATOM(exch_b64, "exch.b64", unsigned long long, "l")

// A counter by compare-and-swap: each lane tries once a turn, and counts how often it won.
#define CAS(BITS, T, C)                                                                       \
  extern "C" __global__ void global_cas_b##BITS(T* cells, T* out, int turns) {                \
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;                                       \
    T guess = 0, won = 0, old;                                                                \
    _Pragma("unroll 1") for (int turn = 0; turn < turns; turn++) {                            \
      asm volatile("atom.global.cas.b" #BITS " %0, [%1], %2, %3;"                             \
                   : "=" C(old) : "l"(cells), C(guess), C(guess + 1) : "memory");             \
      won += old == guess;                                                                    \
      guess = old == guess ? guess + 1 : old;                                                 \
    }                                                                                         \
    out[i] = won;                                                                             \
  }                                                                                           \
  extern "C" __global__ void shared_cas_b##BITS(T* cells, T* out, int turns) {                \
    __shared__ T cell;                                                                        \
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;                                       \
    unsigned at = (unsigned)__cvta_generic_to_shared(&cell);                                  \
    if (threadIdx.x == 0) cell = cells[blockIdx.x];                                           \
    __syncthreads();                                                                          \
    T guess = 0, won = 0, old;                                                                \
    _Pragma("unroll 1") for (int turn = 0; turn < turns; turn++) {                            \
      asm volatile("atom.shared.cas.b" #BITS " %0, [%1], %2, %3;"                             \
                   : "=" C(old) : "r"(at), C(guess), C(guess + 1) : "memory");                \
      won += old == guess;                                                                    \
      guess = old == guess ? guess + 1 : old;                                                 \
    }                                                                                         \
    out[i] = won;                                                                             \
    __syncthreads();                                                                          \
    if (threadIdx.x == 0) cells[blockIdx.x] = cell;                                           \
  }

CAS(32, unsigned, "r")
CAS(64, unsigned long long, "l")
