// Escape counts of the Mandelbrot set, and the same coloured as packed RGBA.

struct View {
    double left, top;
    double step;
    int width, height;
    int limit;
};

__device__ int escape(double cx, double cy, int limit)
{
    double x = 0, y = 0;
    int k = 0;
    while (k < limit && x * x + y * y <= 4.0) {
        double t = __dadd_rn(__dsub_rn(__dmul_rn(x, x), __dmul_rn(y, y)), cx);
        y = __dadd_rn(__dmul_rn(__dmul_rn(2.0, x), y), cy);
        x = t;
        k++;
    }
    return k;
}

extern "C" __global__ void mandelbrot(View view, unsigned short *counts)
{
    int px = blockIdx.x * blockDim.x + threadIdx.x;
    int py = blockIdx.y * blockDim.y + threadIdx.y;
    if (px >= view.width || py >= view.height)
        return;
    counts[py * view.width + px] = escape(view.left + px * view.step, view.top + py * view.step, view.limit);
}

extern "C" __global__ void mandelbrot_rgba(View view, uchar4 *image)
{
    int px = blockIdx.x * blockDim.x + threadIdx.x;
    int py = blockIdx.y * blockDim.y + threadIdx.y;
    if (px >= view.width || py >= view.height)
        return;
    int k = escape(view.left + px * view.step, view.top + py * view.step, view.limit);
    uchar4 c = {0, 0, 0, 255};
    if (k < view.limit) {
        switch (k % 6) {
        case 0: c.x = 255; break;
        case 1: c.y = 200; break;
        case 2: c.z = 150; break;
        case 3: c.x = c.y = 128; break;
        case 4: c.y = c.z = k; break;
        default: c.x = c.z = ~k; break;
        }
    }
    image[py * view.width + px] = c;
}
