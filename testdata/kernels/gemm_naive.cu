// C = A * B, row major; A is m x k, B is k x n, C is m x n. One output a thread.

extern "C" __global__ void gemm_naive(const float *A, const float *B, float *C, int m, int n, int k)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= m || col >= n)
        return;
    float sum = 0.0f;
    for (int i = 0; i < k; i++)
        sum += A[row * k + i] * B[i * n + col];
    C[row * n + col] = sum;
}
