// Sparse mma, and matrices through shared memory; later/mma_sync.cu has the plain ones.

#include <cuda_fp16.h>

__device__ unsigned shared_address(const void *p)
{
    return (unsigned)__cvta_generic_to_shared(p);
}

// A sparse A: two of four values in each row of 16, which of them says the metadata.
extern "C" __global__ void mma_sp(const unsigned *a, const unsigned *b, const unsigned *meta, float *d)
{
    int lane = threadIdx.x;
    float c[4] = {1, 2, 3, 4};
    asm volatile("mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6,%7}, {%0,%1,%2,%3}, %8, 1;"
                 : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                 : "r"(a[lane]), "r"(a[lane + 32]), "r"(b[lane]), "r"(b[lane + 32]), "r"(meta[lane]));
    for (int k = 0; k < 4; k++)
        d[lane * 4 + k] = c[k];
}

// C = A * B for matrices of 16 by 16 halves through shared memory: ldmatrix, mma, stmatrix, movmatrix.
extern "C" __global__ void round_trip(const __half *a, const __half *b, __half *d, __half *transposed)
{
    __shared__ __align__(16) __half sa[256], sb[256], sd[256];
    int lane = threadIdx.x;
    for (int i = lane; i < 256; i += 32) {
        sa[i] = a[i];
        sb[i] = b[i];
    }
    __syncwarp();
    unsigned ra[4], rb[4], rd[4] = {0, 0, 0, 0};
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(ra[0]), "=r"(ra[1]), "=r"(ra[2]), "=r"(ra[3])
                 : "r"(shared_address(&sa[(lane % 16) * 16 + (lane / 16) * 8])));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(rb[0]), "=r"(rb[1]), "=r"(rb[2]), "=r"(rb[3])
                 : "r"(shared_address(&sb[(lane % 16) * 16 + (lane / 16) * 8])));
    for (int half = 0; half < 2; half++)
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%0,%1};"
                     : "+r"(rd[2 * half]), "+r"(rd[2 * half + 1])
                     : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[2 * half]), "r"(rb[2 * half + 1]));
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(
                     shared_address(&sd[(lane % 16) * 16 + (lane / 16) * 8])),
                 "r"(rd[0]), "r"(rd[1]), "r"(rd[2]), "r"(rd[3])
                 : "memory");
    __syncwarp();
    for (int i = lane; i < 256; i += 32)
        d[i] = sd[i];
    unsigned t;
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(t) : "r"(rd[0]));
    ((unsigned *)transposed)[lane] = t;
}
