// C = A * B in f16 with f32 accumulators through the warp matrix interface.

#include <mma.h>
using namespace nvcuda;

extern "C" __global__ void wmma_gemm(const half *A, const half *B, float *C, int m, int n, int k)
{
    int tile_m = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    int tile_n = blockIdx.y * blockDim.y + threadIdx.y;
    if (tile_m * 16 >= m || tile_n * 16 >= n)
        return;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
    wmma::fill_fragment(c, 0.0f);
    for (int i = 0; i < k; i += 16) {
        wmma::load_matrix_sync(a, A + tile_m * 16 * k + i, k);
        wmma::load_matrix_sync(b, B + i * n + tile_n * 16, n);
        wmma::mma_sync(c, a, b, c);
    }
    wmma::store_matrix_sync(C + tile_m * 16 * n + tile_n * 16, c, n, wmma::mem_row_major);
}
