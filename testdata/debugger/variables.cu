// What a debugger shows of variables: nvcc -G -ptx -arch=sm_90, kept beside this.
struct Point {
    int x;
    float y[3];
    const Point *next;
};
enum Mode { Fast, Slow = 5 };
typedef unsigned int counter;

__device__ int twice(int v) {
    int w = v * 2;
    return w;
}

__global__ void variables(float *a, const Point *p, Mode mode, int n) {
    __shared__ float s[4][8];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    counter u = i + 1;
    Point q;
    q.x = i;
    q.y[1] = 2.5f;
    q.next = p;
    double d = 0.25 * i;
    bool b = i > 3;
    float local[4] = {1, 2, 3, 4};
    s[threadIdx.x / 8][threadIdx.x % 8] = a[i];
    __syncthreads();
    for (int k = 0; k < 3; k++) {
        int z = twice(k);
        local[k] += z + q.x;
    }
    if (i < n)
        a[i] = local[i & 3] + s[0][0] + d + b + mode + u + q.y[1] + q.next->x;
}
