// Each thread adds its neighbour's value, and nothing orders the read with the neighbour's write.

extern "C" __global__ void neighbours(int *out)
{
    __shared__ int values[64];

    int own = threadIdx.x;
    values[own] = own * own;
    int next = values[(own + 1) % 64];
    out[own] = values[own] + next;
}
