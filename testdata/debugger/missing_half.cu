// Half of the threads wait at a barrier that the others never reach: those wait at another one.

extern "C" __global__ void missing_half(int *out)
{
    __shared__ int total;

    if (threadIdx.x == 0)
        total = 0;
    if (threadIdx.x < 32) {
        asm volatile("bar.sync 1, 64;");
        atomicAdd(&total, 1);
    } else {
        asm volatile("bar.sync 2, 64;");
        atomicAdd(&total, 2);
    }
    __syncthreads();
    out[threadIdx.x] = total;
}
