// One access of one warp each, at addresses that a table gives: lane i accesses `at[i]` bytes into the memory, or not at all
// if that is negative. What the rest of a kernel does is the same whatever the table says.
#include <cstdint>
#include <cuda_fp16.h>

#define KERNEL extern "C" __global__ void
// All bits, so that ptxas loads all of them.
__device__ unsigned fold(unsigned long long value) { return (unsigned)(value ^ value >> 32); }
#define WARP const int lane = threadIdx.x; const int where = at[lane]

// Loads and stores of global memory, 1 to 16 bytes a lane.
#define LOAD(NAME, OP, C, T)                                                                       \
    KERNEL NAME(const char *memory, const int *at, unsigned *out)                                  \
    {                                                                                              \
        WARP;                                                                                      \
        T value = 0;                                                                               \
        if (where >= 0)                                                                            \
            asm volatile(OP " %0, [%1];" : "=" C(value) : "l"(memory + where));                    \
        out[lane] = fold(value);                                                                   \
    }
LOAD(load_u8, "ld.global.u8", "h", short)
LOAD(load_u16, "ld.global.u16", "h", short)
LOAD(load_u32, "ld.global.u32", "r", unsigned)
LOAD(load_u64, "ld.global.u64", "l", unsigned long long)
LOAD(load_nc_u32, "ld.global.nc.u32", "r", unsigned)
LOAD(load_volatile_u32, "ld.volatile.global.u32", "r", unsigned)
LOAD(load_acquire_u32, "ld.acquire.gpu.global.u32", "r", unsigned)
LOAD(load_cg_u32, "ld.global.cg.u32", "r", unsigned)
LOAD(load_generic_u32, "ld.u32", "r", unsigned)

KERNEL load_v4(const char *memory, const int *at, uint4 *out)
{
    WARP;
    uint4 v = make_uint4(0, 0, 0, 0);
    if (where >= 0)
        asm volatile("ld.global.v4.u32 {%0,%1,%2,%3}, [%4];"
                     : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                     : "l"(memory + where));
    out[lane] = v;
}

#define STORE(NAME, OP, C, T)                                                                      \
    KERNEL NAME(char *memory, const int *at)                                                       \
    {                                                                                              \
        WARP;                                                                                      \
        if (where >= 0) asm volatile(OP " [%0], %1;" ::"l"(memory + where), C((T)lane));           \
    }
STORE(store_u8, "st.global.u8", "h", short)
STORE(store_u16, "st.global.u16", "h", short)
STORE(store_u32, "st.global.u32", "r", unsigned)
STORE(store_u64, "st.global.u64", "l", unsigned long long)

KERNEL store_v4(char *memory, const int *at)
{
    WARP;
    if (where >= 0)
        asm volatile("st.global.v4.u32 [%0], {%1,%1,%1,%1};" ::"l"(memory + where), "r"(lane));
}

// The same of shared memory, 16 KiB of it.
#define SHARED __shared__ __align__(1024) char memory[16384]; \
    const unsigned base = (unsigned)__cvta_generic_to_shared(memory)
#define SHARED_LOAD(NAME, OP, C, T)                                                                \
    KERNEL NAME(const int *at, unsigned *out)                                                      \
    {                                                                                              \
        SHARED;                                                                                    \
        WARP;                                                                                      \
        T value = 0;                                                                               \
        if (where >= 0) asm volatile(OP " %0, [%1];" : "=" C(value) : "r"(base + where));          \
        out[lane] = fold(value);                                                                   \
    }
SHARED_LOAD(shared_load_u8, "ld.shared.u8", "h", short)
SHARED_LOAD(shared_load_u16, "ld.shared.u16", "h", short)
SHARED_LOAD(shared_load_u32, "ld.shared.u32", "r", unsigned)
SHARED_LOAD(shared_load_u64, "ld.shared.u64", "l", unsigned long long)

KERNEL shared_load_v4(const int *at, uint4 *out)
{
    SHARED;
    WARP;
    uint4 v = make_uint4(0, 0, 0, 0);
    if (where >= 0)
        asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];"
                     : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                     : "r"(base + where));
    out[lane] = v;
}

#define SHARED_STORE(NAME, OP, C, T)                                                               \
    KERNEL NAME(const int *at)                                                                     \
    {                                                                                              \
        SHARED;                                                                                    \
        WARP;                                                                                      \
        if (where >= 0) asm volatile(OP " [%0], %1;" ::"r"(base + where), C((T)lane));             \
    }
SHARED_STORE(shared_store_u8, "st.shared.u8", "h", short)
SHARED_STORE(shared_store_u16, "st.shared.u16", "h", short)
SHARED_STORE(shared_store_u32, "st.shared.u32", "r", unsigned)
SHARED_STORE(shared_store_u64, "st.shared.u64", "l", unsigned long long)

KERNEL shared_store_v4(const int *at)
{
    SHARED;
    WARP;
    if (where >= 0)
        asm volatile("st.shared.v4.u32 [%0], {%1,%1,%1,%1};" ::"r"(base + where), "r"(lane));
}

// Atomics and reductions of global memory.
#define ATOM(NAME, OP, C, T)                                                                       \
    KERNEL NAME(char *memory, const int *at, unsigned *out)                                        \
    {                                                                                              \
        WARP;                                                                                      \
        T value = 0;                                                                               \
        if (where >= 0)                                                                            \
            asm volatile(OP ";" : "=" C(value) : "l"(memory + where), C((T)lane), C((T)1));        \
        out[lane] = (unsigned)value;                                                               \
    }
ATOM(atom_add_u32, "atom.global.add.u32 %0, [%1], %2", "r", unsigned)
ATOM(atom_cas_u32, "atom.global.cas.b32 %0, [%1], %2, %3", "r", unsigned)
ATOM(atom_exch_u32, "atom.global.exch.b32 %0, [%1], %2", "r", unsigned)
ATOM(atom_add_u64, "atom.global.add.u64 %0, [%1], %2", "l", unsigned long long)
ATOM(atom_cas_u64, "atom.global.cas.b64 %0, [%1], %2, %3", "l", unsigned long long)
ATOM(atom_add_f32, "atom.global.add.f32 %0, [%1], %2", "f", float)
ATOM(atom_add_f64, "atom.global.add.f64 %0, [%1], %2", "d", double)

#define RED(NAME, OP, C, T)                                                                        \
    KERNEL NAME(char *memory, const int *at)                                                       \
    {                                                                                              \
        WARP;                                                                                      \
        if (where >= 0) asm volatile(OP " [%0], %1;" ::"l"(memory + where), C((T)lane));           \
    }
RED(red_add_u32, "red.global.add.u32", "r", unsigned)
RED(red_max_u32, "red.global.max.u32", "r", unsigned)
RED(red_add_u64, "red.global.add.u64", "l", unsigned long long)
RED(red_add_f32, "red.global.add.f32", "f", float)
RED(red_add_f64, "red.global.add.f64", "d", double)
RED(red_add_f16x2, "red.global.add.noftz.f16x2", "r", unsigned)

KERNEL red_add_v4_f32(char *memory, const int *at)
{
    WARP;
    if (where >= 0)
        asm volatile("red.global.add.v4.f32 [%0], {%1,%1,%1,%1};" ::"l"(memory + where), "f"((float)lane));
}

// Atomics of shared memory.
#define SHARED_ATOM(NAME, OP, C, T)                                                                \
    KERNEL NAME(const int *at, unsigned *out)                                                      \
    {                                                                                              \
        SHARED;                                                                                    \
        WARP;                                                                                      \
        T value = 0;                                                                               \
        if (where >= 0)                                                                            \
            asm volatile(OP ";" : "=" C(value) : "r"(base + where), C((T)(lane + 2)), C((T)1));    \
        out[lane] = (unsigned)value;                                                               \
    }
SHARED_ATOM(shared_atom_add_u32, "atom.shared.add.u32 %0, [%1], %2", "r", unsigned)
SHARED_ATOM(shared_atom_max_u32, "atom.shared.max.u32 %0, [%1], %2", "r", unsigned)
SHARED_ATOM(shared_atom_exch_u32, "atom.shared.exch.b32 %0, [%1], %2", "r", unsigned)
SHARED_ATOM(shared_atom_cas_u32, "atom.shared.cas.b32 %0, [%1], %2, %3", "r", unsigned)
SHARED_ATOM(shared_atom_exch_u64, "atom.shared.exch.b64 %0, [%1], %2", "l", unsigned long long)
SHARED_ATOM(shared_atom_cas_u64, "atom.shared.cas.b64 %0, [%1], %2, %3", "l", unsigned long long)
SHARED_ATOM(shared_atom_add_u64, "atom.shared.add.u64 %0, [%1], %2", "l", unsigned long long)
SHARED_ATOM(shared_atom_add_f32, "atom.shared.add.f32 %0, [%1], %2", "f", float)

#define SHARED_RED(NAME, OP, C, T, VALUE)                                                          \
    KERNEL NAME(const int *at)                                                                     \
    {                                                                                              \
        SHARED;                                                                                    \
        WARP;                                                                                      \
        if (where >= 0) asm volatile(OP " [%0], %1;" ::"r"(base + where), C((T)(VALUE)));          \
    }
SHARED_RED(shared_red_add_u32, "red.shared.add.u32", "r", unsigned, lane)
SHARED_RED(shared_red_inc_u32, "red.shared.add.u32", "r", unsigned, 1)
SHARED_RED(shared_red_add_f32, "red.shared.add.f32", "f", float, lane)

// Matrix fragments: lane i gives the address of row i, 16 bytes.
#define LDMATRIX(NAME, OP, N)                                                                      \
    KERNEL NAME(const int *at, unsigned *out)                                                      \
    {                                                                                              \
        SHARED;                                                                                    \
        WARP;                                                                                      \
        unsigned v[4] = {0, 0, 0, 0};                                                              \
        const unsigned row = base + where;                                                         \
        if (N == 1)                                                                                \
            asm volatile(OP " {%0}, [%1];" : "=r"(v[0]) : "r"(row));                               \
        if (N == 2)                                                                                \
            asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];"                 \
                         : "=r"(v[0]), "=r"(v[1]) : "r"(row));                                     \
        if (N == 4)                                                                                \
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"     \
                         : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]) : "r"(row));             \
        out[lane] = v[0] + v[1] + v[2] + v[3];                                                     \
    }
LDMATRIX(ldmatrix_x1, "ldmatrix.sync.aligned.m8n8.x1.shared.b16", 1)
LDMATRIX(ldmatrix_x2, "", 2)
LDMATRIX(ldmatrix_x4, "", 4)

KERNEL stmatrix_x4(const int *at)
{
    SHARED;
    WARP;
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%1,%1,%1};" ::"r"(base + where), "r"(lane));
}

// Copies from global to shared memory: the table has the address in global memory, and behind it that in shared memory.
#define CP_ASYNC(NAME, OP, BYTES)                                                                  \
    KERNEL NAME(const char *from, const int *at)                                                   \
    {                                                                                              \
        SHARED;                                                                                    \
        WARP;                                                                                      \
        const int to = at[32 + lane];                                                              \
        if (where >= 0)                                                                            \
            asm volatile(OP " [%0], [%1], " #BYTES ";" ::"r"(base + to), "l"(from + where));       \
        asm volatile("cp.async.wait_all;");                                                        \
    }
CP_ASYNC(cp_async_4, "cp.async.ca.shared.global", 4)
CP_ASYNC(cp_async_8, "cp.async.ca.shared.global", 8)
CP_ASYNC(cp_async_16, "cp.async.ca.shared.global", 16)
CP_ASYNC(cp_async_cg_16, "cp.async.cg.shared.global", 16)

// Constants and local memory, indexed by lanes.
__constant__ unsigned constants[1024];

KERNEL load_constant(const int *at, unsigned *out)
{
    WARP;
    unsigned value = 0;
    if (where >= 0) value = constants[where / 4];
    out[lane] = value;
}

KERNEL local_memory(const int *at, unsigned *out)
{
    WARP;
    unsigned array[64];
#pragma unroll 1
    for (int i = 0; i < 64; i++) array[(i * 7) & 63] = i + lane;
    out[lane] = where >= 0 ? array[where & 63] : 0;
}

KERNEL local_memory_u64(const int *at, unsigned long long *out)
{
    WARP;
    unsigned long long array[32];
#pragma unroll 1
    for (int i = 0; i < 32; i++) array[(i * 7) & 31] = i + lane;
    out[lane] = where >= 0 ? array[where & 31] : 0;
}
