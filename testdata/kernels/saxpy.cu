// y = a * x + y, one element a thread, with a guard for the ragged last block.

extern "C" __global__ void saxpy(int n, float a, const float *__restrict__ x, float *__restrict__ y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}

// The same with a grid-stride loop: any grid covers any n.
extern "C" __global__ void saxpy_strided(int n, float a, const float *__restrict__ x, float *__restrict__ y)
{
    int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride)
        y[i] = a * x[i] + y[i];
}
