// The warp matrix interface in shapes and types that later/wmma_gemm.cu does not have.

#include <mma.h>
using namespace nvcuda;

// C = A * B in s8 with s32 accumulators, B and C in columns, tiles of 32 x 8.
extern "C" __global__ void wmma_gemm_s8(const signed char *A, const signed char *B, int *C, int m, int n, int k)
{
    int tile_m = blockIdx.x, tile_n = blockIdx.y;
    wmma::fragment<wmma::matrix_a, 32, 8, 16, signed char, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 32, 8, 16, signed char, wmma::col_major> b;
    wmma::fragment<wmma::accumulator, 32, 8, 16, int> c;
    wmma::fill_fragment(c, 0);
    for (int i = 0; i < k; i += 16) {
        wmma::load_matrix_sync(a, A + tile_m * 32 * k + i, k);
        wmma::load_matrix_sync(b, B + tile_n * 8 * k + i, k);
        wmma::mma_sync(c, a, b, c);
    }
    wmma::store_matrix_sync(C + tile_n * 8 * m + tile_m * 32, c, m, wmma::mem_col_major);
}

// f16 throughout, through shared memory: D = 2 * A * B + C with A in columns, one tile of 8 x 32.
extern "C" __global__ void wmma_scaled_f16(const half *A, const half *B, const half *C, half *D)
{
    __shared__ __align__(32) half sa[8 * 16], sb[16 * 32];
    int lane = threadIdx.x;
    for (int i = lane; i < 128; i += 32)
        sa[i] = A[i];
    for (int i = lane; i < 512; i += 32)
        sb[i] = B[i];
    __syncwarp();
    wmma::fragment<wmma::matrix_a, 8, 32, 16, half, wmma::col_major> a;
    wmma::fragment<wmma::matrix_b, 8, 32, 16, half, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, 8, 32, 16, half> c;
    wmma::load_matrix_sync(a, sa, 8);
    wmma::load_matrix_sync(b, sb, 32);
    wmma::load_matrix_sync(c, C, 32, wmma::mem_row_major);
    for (int i = 0; i < a.num_elements; i++)
        a.x[i] = __hadd(a.x[i], a.x[i]);
    wmma::mma_sync(c, a, b, c);
    wmma::store_matrix_sync(D, c, 32, wmma::mem_row_major);
}

// f64 and tf32: one tile each.
extern "C" __global__ void wmma_wide(const double *A, const double *B, double *C, const float *E, const float *F, float *G)
{
    wmma::fragment<wmma::matrix_a, 8, 8, 4, double, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 8, 8, 4, double, wmma::col_major> b;
    wmma::fragment<wmma::accumulator, 8, 8, 4, double> c;
    wmma::fill_fragment(c, 0.5);
    wmma::load_matrix_sync(a, A, 4);
    wmma::load_matrix_sync(b, B, 4);
    wmma::mma_sync(c, a, b, c);
    wmma::store_matrix_sync(C, c, 8, wmma::mem_row_major);
    wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::col_major> e;
    wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::row_major> f;
    wmma::fragment<wmma::accumulator, 16, 16, 8, float> g;
    wmma::fill_fragment(g, -1.0f);
    wmma::load_matrix_sync(e, E, 16);
    wmma::load_matrix_sync(f, F, 16);
    wmma::mma_sync(g, e, f, g);
    wmma::store_matrix_sync(G, g, 16, wmma::mem_col_major);
}
