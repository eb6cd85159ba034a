// Bitonic sort, ascending: inside one block, and over global memory one step a launch.

extern "C" __global__ void bitonic_block(int *data, int n)
{
    extern __shared__ int s[];
    int t = threadIdx.x;
    s[t] = t < n ? data[t] : 0x7fffffff;
    __syncthreads();
    for (int k = 2; k <= blockDim.x; k *= 2) {
        for (int j = k / 2; j > 0; j /= 2) {
            int other = t ^ j;
            if (other > t) {
                bool up = (t & k) == 0;
                int a = s[t], b = s[other];
                if ((a > b) == up) {
                    s[t] = b;
                    s[other] = a;
                }
            }
            __syncthreads();
        }
    }
    if (t < n)
        data[t] = s[t];
}

extern "C" __global__ void bitonic_step(float *data, int j, int k)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int other = i ^ j;
    if (other <= i)
        return;
    bool up = (i & k) == 0;
    float a = data[i], b = data[other];
    if ((a > b) == up) {
        data[i] = b;
        data[other] = a;
    }
}
