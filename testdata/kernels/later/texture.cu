// Texture and surface access through handles.

extern "C" __global__ void sample(cudaTextureObject_t image, cudaSurfaceObject_t target, int width, int height, float zoom)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    float v = tex2D<float>(image, x * zoom + 0.5f, y * zoom + 0.5f);
    surf2Dwrite(v, target, x * (int)sizeof(float), y);
}
