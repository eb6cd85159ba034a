// Matrix transposes by way of a padded shared tile, 32 x 8 threads a block.

#define TILE 32
#define ROWS 8

template <typename T>
__device__ void transpose(const T *in, T *out, int width, int height)
{
    __shared__ T tile[TILE][TILE + 1];
    int x = blockIdx.x * TILE + threadIdx.x;
    int y = blockIdx.y * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS)
        if (x < width && y + j < height)
            tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * width + x];
    __syncthreads();
    x = blockIdx.y * TILE + threadIdx.x;
    y = blockIdx.x * TILE + threadIdx.y;
    for (int j = 0; j < TILE; j += ROWS)
        if (x < height && y + j < width)
            out[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}

extern "C" __global__ void transpose_f32(const float *in, float *out, int width, int height)
{
    transpose(in, out, width, height);
}

extern "C" __global__ void transpose_u8(const unsigned char *in, unsigned char *out, int width, int height)
{
    transpose(in, out, width, height);
}

extern "C" __global__ void transpose_f64x2(const double2 *in, double2 *out, int width, int height)
{
    transpose(in, out, width, height);
}
