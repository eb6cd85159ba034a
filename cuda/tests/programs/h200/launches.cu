// Kernels that launch kernels: recursion with named streams, trees, blocks of every shape, parameters of every size.
#include "common.h"
#define MAX_DEPTH 12
#define INSERTION 24
__device__ void selection(unsigned* data, int left, int right) {
    for (int i = left; i <= right; ++i) {
        unsigned least = data[i];
        int at = i;
        for (int j = i + 1; j <= right; ++j)
            if (data[j] < least) { at = j; least = data[j]; }
        if (i != at) { data[at] = data[i]; data[i] = least; }
    }
}
__global__ void quicksort(unsigned* data, int left, int right, int depth) {
    if (depth >= MAX_DEPTH || right - left <= INSERTION) {
        selection(data, left, right);
        return;
    }
    unsigned *l = data + left, *r = data + right, pivot = data[(left + right) / 2];
    while (l <= r) {
        unsigned a = *l, b = *r;
        while (a < pivot) { l++; a = *l; }
        while (b > pivot) { r--; b = *r; }
        if (l <= r) { *l++ = b; *r-- = a; }
    }
    int nright = r - data, nleft = l - data;
    if (left < r - data) {
        cudaStream_t s;
        cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
        quicksort<<<1, 1, 0, s>>>(data, left, nright, depth + 1);
        cudaStreamDestroy(s);
    }
    if (l - data < right) {
        cudaStream_t s;
        cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
        quicksort<<<1, 1, 0, s>>>(data, nleft, right, depth + 1);
        cudaStreamDestroy(s);
    }
}
// Each thread's curve gets as many points as it is bent, in memory that the parent allocates.
struct Curve {
    float2 control[3];
    float2* points;
    int count;
};
__forceinline__ __device__ float length(float2 a) { return sqrtf(a.x * a.x + a.y * a.y); }
__global__ void positions(int index, Curve* curves, int count) {
    int at = threadIdx.x + blockDim.x * blockIdx.x;
    if (at >= count) return;
    float u = (float)at / (float)(count - 1), v = 1.0f - u;
    float b[3] = {v * v, 2.0f * u * v, u * u};
    float2 p = make_float2(0, 0);
    for (int i = 0; i < 3; i++) {
        p.x = p.x + b[i] * curves[index].control[i].x;
        p.y = p.y + b[i] * curves[index].control[i].y;
    }
    curves[index].points[at] = p;
}
__global__ void tessellate(Curve* curves, int n) {
    int at = threadIdx.x + blockDim.x * blockIdx.x;
    if (at >= n) return;
    float2 a = curves[at].control[0], b = curves[at].control[1], c = curves[at].control[2];
    float2 middle = make_float2(b.x - 0.5f * (a.x + c.x), b.y - 0.5f * (a.y + c.y));
    float2 chord = make_float2(c.x - a.x, c.y - a.y);
    float bend = length(middle) / length(chord);
    curves[at].count = min(max((int)(bend * 16.0f), 4), 64);
    if (cudaMalloc((void**)&curves[at].points, curves[at].count * sizeof(float2)) != cudaSuccess) return;
    positions<<<(curves[at].count + 31) / 32, 32>>>(at, curves, curves[at].count);
}
__global__ void gather(Curve* curves, int n, float2* out) {
    int at = threadIdx.x + blockDim.x * blockIdx.x;
    if (at < n)
        for (int i = 0; i < curves[at].count; i++) out[at * 64 + i] = curves[at].points[i];
}
__global__ void release(Curve* curves, int n) {
    int at = threadIdx.x + blockDim.x * blockIdx.x;
    if (at < n) cudaFree(curves[at].points);
}
// Shapes: grids and blocks of three extents, dynamic shared memory, large parameters.
struct Large { int values[300]; double scale; };
__global__ void fill(int* out, Large large, short s, char c, double d) {
    extern __shared__ int shared[];
    int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    int b = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    int n = blockDim.x * blockDim.y * blockDim.z;
    shared[t] = large.values[t % 300] * (int)large.scale + s;
    __syncthreads();
    out[b * n + t] = shared[n - 1 - t] + c + (int)d;
}
template <class T, int N>
__global__ void scale(T* data, T by) {
    int at = threadIdx.x + blockDim.x * blockIdx.x;
    for (int i = 0; i < N; i++) data[at * N + i] *= by;
}
__global__ void shapes(int* out, float* f, double* d) {
    Large large;
    for (int i = 0; i < 300; i++) large.values[i] = i * i + blockIdx.x;
    large.scale = 3.0 + blockIdx.x;
    if (threadIdx.x == 0) {
        fill<<<dim3(2, 3, 2), dim3(4, 4, 8), 128 * sizeof(int)>>>(out + blockIdx.x * 1536, large, 7, 'a', 2.5);
        scale<float, 4><<<2, 32>>>(f + blockIdx.x * 256, 1.5f);
        scale<float, 4><<<2, 32>>>(f + blockIdx.x * 256, 2.0f);
        scale<double, 2><<<1, 64, 0, cudaStreamFireAndForget>>>(d + blockIdx.x * 128, 0.25);
    }
}
// A tree: every thread of a node launches a node below, which sees what was written before.
__device__ unsigned leaves;
__global__ void node(unsigned* sums, unsigned path, int level) {
    unsigned own = path * 4 + threadIdx.x;
    if (level == 4) {
        atomicAdd(&leaves, 1u);
        atomicAdd(&sums[own & 63], own);
        return;
    }
    node<<<1, 4>>>(sums, own, level + 1);
}
int main() {
    for (int n : {1, 25, 100, 1000}) {
        std::vector<unsigned> v(n);
        Lcg r(n);
        for (auto& x : v) x = r.next() % 500;
        Buf<unsigned> d(v);
        quicksort<<<1, 1>>>(d, 0, n - 1, 0);
        CK(cudaGetLastError());
        CK(cudaDeviceSynchronize());
        std::sort(v.begin(), v.end());
        printf("quicksort %d %s\n", n, d.get() == v ? "sorted" : "WRONG");
    }
    {
        const int n = 96;
        std::vector<Curve> c(n);
        Lcg r(7);
        for (auto& x : c) for (auto& p : x.control) p = make_float2(r.unit(), r.unit());
        Buf<Curve> d(c);
        Buf<float2> out(n * 64);
        tessellate<<<(n + 31) / 32, 32>>>(d, n);
        gather<<<(n + 31) / 32, 32>>>(d, n, out);
        release<<<(n + 31) / 32, 32>>>(d, n);
        show("tessellate", out);
    }
    {
        std::vector<float> f(3 * 256);
        std::vector<double> g(3 * 128);
        for (size_t i = 0; i < f.size(); i++) f[i] = i * 0.37f;
        for (size_t i = 0; i < g.size(); i++) g[i] = i * 0.91;
        Buf<int> out(3 * 1536);
        Buf<float> df(f);
        Buf<double> dg(g);
        shapes<<<3, 2>>>(out, df, dg);
        show("shapes fill", out);
        show("shapes float", df);
        show("shapes double", dg);
    }
    {
        Buf<unsigned> sums(64);
        node<<<1, 4>>>(sums, 0, 0);
        show("tree", sums);
        unsigned count;
        CK(cudaMemcpyFromSymbol(&count, leaves, 4));
        printf("leaves %u\n", count);
    }
}
