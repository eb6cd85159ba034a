// Two-dimensional convolution with clamped edges: the filter in constant
// memory, the image's tile with its apron in shared memory.

#define RADIUS 2
#define TILE 16

__constant__ float filter[(2 * RADIUS + 1) * (2 * RADIUS + 1)];

extern "C" __global__ void convolve(const float *in, float *out, int width, int height)
{
    __shared__ float tile[TILE + 2 * RADIUS][TILE + 2 * RADIUS];
    int bx = blockIdx.x * TILE - RADIUS, by = blockIdx.y * TILE - RADIUS;
    for (int y = threadIdx.y; y < TILE + 2 * RADIUS; y += TILE)
        for (int x = threadIdx.x; x < TILE + 2 * RADIUS; x += TILE) {
            int sx = min(max(bx + x, 0), width - 1);
            int sy = min(max(by + y, 0), height - 1);
            tile[y][x] = in[sy * width + sx];
        }
    __syncthreads();
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    if (x >= width || y >= height)
        return;
    float sum = 0.0f;
    for (int dy = 0; dy <= 2 * RADIUS; dy++)
        for (int dx = 0; dx <= 2 * RADIUS; dx++)
            sum += filter[dy * (2 * RADIUS + 1) + dx] * tile[threadIdx.y + dy][threadIdx.x + dx];
    out[y * width + x] = sum;
}

// Sobel's gradient of an 8-bit image with integer arithmetic; the border is 0.
extern "C" __global__ void sobel(const unsigned char *in, unsigned char *out, int width, int height)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    int v = 0;
    if (x > 0 && y > 0 && x < width - 1 && y < height - 1) {
        const unsigned char *p = in + y * width + x;
        int gx = p[-width + 1] + 2 * p[1] + p[width + 1] - p[-width - 1] - 2 * p[-1] - p[width - 1];
        int gy = p[width - 1] + 2 * p[width] + p[width + 1] - p[-width - 1] - 2 * p[-width] - p[-width + 1];
        v = min(abs(gx) + abs(gy), 255);
    }
    out[y * width + x] = v;
}
