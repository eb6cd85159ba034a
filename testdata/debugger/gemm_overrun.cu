// A tiled product of matrices with a wrong index: where C is stored, a row is taken to be as long as A has
// rows, so that a matrix with more rows than columns is written behind its end.

#define TILE 8

extern "C" __global__ void gemm_overrun(const float *A, const float *B, float *C, int m, int n, int k)
{
    __shared__ float As[TILE][TILE];
    __shared__ float Bs[TILE][TILE];

    int tx = threadIdx.x, ty = threadIdx.y;
    int col = blockIdx.x * TILE + tx;
    int row = blockIdx.y * TILE + ty;

    float sum = 0.0f;
    for (int t = 0; t < k; t += TILE) {
        As[ty][tx] = row < m && t + tx < k ? A[row * k + t + tx] : 0.0f;
        Bs[ty][tx] = t + ty < k && col < n ? B[(t + ty) * n + col] : 0.0f;
        __syncthreads();
        for (int i = 0; i < TILE; i++)
            sum += As[ty][i] * Bs[i][tx];
        __syncthreads();
    }
    if (row < m && col < n) {
        int at = row * m + col;
        C[at] = sum;
    }
}
