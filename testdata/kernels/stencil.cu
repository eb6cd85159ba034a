// Finite differences: a radius-4 stencil in one dimension with a halo in shared
// memory, and a 7-point heat step in three dimensions in f64.

#define RADIUS 4
#define BLOCK 128

__constant__ float stencil_weights[2 * RADIUS + 1] = {
    -0.001785714f, 0.025396825f, -0.2f, 1.6f, -2.8472223f, 1.6f, -0.2f, 0.025396825f, -0.001785714f};

extern "C" __global__ void stencil_1d(const float *in, float *out, int n)
{
    __shared__ float s[BLOCK + 2 * RADIUS];
    int i = blockIdx.x * BLOCK + threadIdx.x;
    int t = threadIdx.x + RADIUS;
    s[t] = i < n ? in[i] : 0.0f;
    if (threadIdx.x < RADIUS) {
        s[t - RADIUS] = i >= RADIUS ? in[i - RADIUS] : 0.0f;
        s[t + BLOCK] = i + BLOCK < n ? in[i + BLOCK] : 0.0f;
    }
    __syncthreads();
    float sum = 0.0f;
#pragma unroll
    for (int d = -RADIUS; d <= RADIUS; d++)
        sum += stencil_weights[d + RADIUS] * s[t + d];
    if (i < n)
        out[i] = sum;
}

extern "C" __global__ void heat_3d(const double *in, double *out, int nx, int ny, int nz, double c)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x >= nx || y >= ny || z >= nz)
        return;
    long long i = ((long long)z * ny + y) * nx + x;
    if (x == 0 || y == 0 || z == 0 || x == nx - 1 || y == ny - 1 || z == nz - 1) {
        out[i] = in[i];
        return;
    }
    double sum = in[i - 1] + in[i + 1];
    sum += in[i - nx] + in[i + nx];
    sum += in[i - (long long)nx * ny] + in[i + (long long)nx * ny];
    out[i] = in[i] + c * (sum - 6.0 * in[i]);
}
