// What the device runtime answers: impossible launches, errors, limits, attributes.
#include "common.h"
__global__ void child(int* p) { if (p) atomicAdd(p, 1); }
__global__ void __launch_bounds__(64) small(int* p) { if (p) atomicAdd(p, 1); }
__global__ void greedy(int* p) { __shared__ int s[1000]; s[threadIdx.x] = 1; __syncthreads(); if (p) atomicAdd(p, s[0]); }
__global__ void __cluster_dims__(2, 1, 1) clustered(int* p) { if (p) atomicAdd(p, 1); }
__global__ void parent(int* s, int* count) {
    int n = 0;
    s[n++] = cudaGetLastError();
    child<<<0, 32>>>(count); s[n++] = cudaPeekAtLastError(); s[n++] = cudaGetLastError(); s[n++] = cudaGetLastError();
    child<<<1, 0>>>(count); s[n++] = cudaGetLastError();
    child<<<1, 1025>>>(count); s[n++] = cudaGetLastError();
    child<<<1, dim3(1, 1, 65)>>>(count); s[n++] = cudaGetLastError();
    child<<<dim3(1, 65536, 1), 1>>>(count); s[n++] = cudaGetLastError();
    child<<<1, dim3(32, 32, 2)>>>(count); s[n++] = cudaGetLastError();
    small<<<1, 65>>>(count); s[n++] = cudaGetLastError();
    child<<<1, 1, 48 * 1024>>>(count); s[n++] = cudaGetLastError();
    child<<<1, 1, 49 * 1024>>>(count); s[n++] = cudaGetLastError();
    child<<<1, 1, 300 * 1024>>>(count); s[n++] = cudaGetLastError();
    greedy<<<1, 32, 48 * 1024 - 4000>>>(count); s[n++] = cudaGetLastError();
    greedy<<<1, 32, 48 * 1024 - 3996>>>(count); s[n++] = cudaGetLastError();
    clustered<<<3, 32>>>(count); s[n++] = cudaGetLastError();
    clustered<<<4, 32>>>(count); s[n++] = cudaGetLastError();
    child<<<1, 1, 0, (cudaStream_t)0x1234560>>>(count); s[n++] = cudaGetLastError();
    child<<<1, 1, 0, cudaStreamPerThread>>>(count); s[n++] = cudaGetLastError();
    child<<<1, 1, 0, cudaStreamLegacy>>>(count); s[n++] = cudaGetLastError();
    s[n++] = -1;
    cudaStream_t t;
    s[n++] = cudaStreamCreateWithFlags(&t, cudaStreamDefault); s[n++] = cudaGetLastError();
    s[n++] = cudaStreamCreateWithFlags(&t, 77); s[n++] = cudaGetLastError();
    s[n++] = cudaStreamCreateWithFlags(nullptr, cudaStreamNonBlocking); s[n++] = cudaGetLastError();
    s[n++] = cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking); s[n++] = cudaGetLastError();
    s[n++] = cudaStreamDestroy(t); s[n++] = cudaGetLastError();
    s[n++] = cudaStreamDestroy(0); s[n++] = cudaGetLastError();
    cudaEvent_t e;
    s[n++] = cudaEventCreateWithFlags(&e, cudaEventDefault); s[n++] = cudaGetLastError();
    s[n++] = cudaEventCreateWithFlags(&e, cudaEventBlockingSync); s[n++] = cudaGetLastError();
    s[n++] = cudaEventCreateWithFlags(nullptr, cudaEventDisableTiming); s[n++] = cudaGetLastError();
    s[n++] = cudaEventCreateWithFlags(&e, cudaEventDisableTiming); s[n++] = cudaGetLastError();
    s[n++] = cudaEventRecord(e, 0); s[n++] = cudaGetLastError();
    s[n++] = cudaStreamWaitEvent(0, e, 0); s[n++] = cudaGetLastError();
    s[n++] = cudaStreamWaitEvent(0, e, 5); s[n++] = cudaGetLastError();
    s[n++] = cudaEventDestroy(e); s[n++] = cudaGetLastError();
    s[n++] = -1;
    int* q = nullptr;
    s[n++] = cudaMalloc(&q, 100); s[n++] = q != nullptr; s[n++] = cudaFree(q);
    s[n++] = cudaMalloc(&q, 0); s[n++] = cudaGetLastError();
    s[n++] = cudaMalloc((void**)nullptr, 10); s[n++] = cudaGetLastError();
    s[n++] = cudaMalloc(&q, 1ull << 40); s[n++] = cudaGetLastError();
    s[n++] = cudaFree(nullptr);
    s[n++] = -2;
}
__device__ void copy(char* to, const char* from) { while ((*to++ = *from++)); }
__global__ void texts(char* out, const int* codes, int n) {
    for (int i = 0; i < n; i++) {
        copy(out + i * 256, cudaGetErrorName((cudaError_t)codes[i]));
        copy(out + i * 256 + 100, cudaGetErrorString((cudaError_t)codes[i]));
    }
}
__global__ void attributes(int* s, const int* which, int n) {
    for (int i = 0; i < n; i++) {
        s[2 * i + 1] = -7;
        s[2 * i] = cudaDeviceGetAttribute(&s[2 * i + 1], (cudaDeviceAttr)which[i], 0);
    }
}
__global__ void about(int* s, size_t* limits) {
    int n = 0, v = -7;
    s[n++] = cudaGetDevice(&v); s[n++] = v;
    s[n++] = cudaGetDeviceCount(&v); s[n++] = v > 0;
    s[n++] = cudaRuntimeGetVersion(&v); s[n++] = v / 1000;
    s[n++] = cudaDeviceGetAttribute(&v, cudaDevAttrWarpSize, 99); s[n++] = cudaGetLastError();
    s[n++] = cudaDeviceGetAttribute(nullptr, cudaDevAttrWarpSize, 0); s[n++] = cudaGetLastError();
    s[n++] = cudaDeviceGetAttribute(&v, (cudaDeviceAttr)9999, 0); s[n++] = cudaGetLastError();
    s[n++] = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&v, child, 128, 0); s[n++] = v;
    s[n++] = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&v, greedy, 256, 40000); s[n++] = v;
    s[n++] = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&v, small, 65, 0); s[n++] = v; s[n++] = cudaGetLastError();
    s[n++] = cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&v, child, 64, 1024, 0); s[n++] = v;
    cudaFuncAttributes a;
    s[n++] = cudaFuncGetAttributes(&a, greedy);
    s[n++] = a.sharedSizeBytes; s[n++] = a.constSizeBytes; s[n++] = a.localSizeBytes; s[n++] = a.maxThreadsPerBlock; s[n++] = a.ptxVersion; s[n++] = a.binaryVersion;
    s[n++] = cudaFuncGetAttributes(&a, small);
    s[n++] = a.sharedSizeBytes; s[n++] = a.maxThreadsPerBlock;
    s[n++] = cudaFuncGetAttributes(&a, (const void*)nullptr); s[n++] = cudaGetLastError();
    s[n++] = cudaFuncGetAttributes((cudaFuncAttributes*)nullptr, small); s[n++] = cudaGetLastError();
    cudaFuncCache c; s[n++] = cudaDeviceGetCacheConfig(&c); s[n++] = c;
    s[n++] = -3;
    for (int i = 0; i < 7; i++) { limits[2 * i + 1] = 999; limits[2 * i] = cudaDeviceGetLimit(&limits[2 * i + 1], (cudaLimit)i); }
    s[n++] = cudaGetLastError();
    s[n++] = -2;
}
// How deep launches nest: the first that is refused.
__global__ void nest(int* s, int level) {
    s[0] = level;
    if (level < 40) {
        nest<<<1, 1>>>(s, level + 1);
        int e = cudaGetLastError();
        if (e) { s[1] = level; s[2] = e; }
    }
}
__global__ void each_thread(int* s) {
    if (threadIdx.x == 3) child<<<0, 1>>>(nullptr);
    s[threadIdx.x] = cudaPeekAtLastError();
    __syncthreads();
    s[8 + threadIdx.x] = cudaGetLastError();
}
__global__ void inherits(int* s) { s[0] = cudaPeekAtLastError(); }
__global__ void leaves(int* s) { inherits<<<1, 1>>>(s + 1); child<<<0, 1>>>(nullptr); s[0] = cudaPeekAtLastError(); }
static void list(const char* name, Buf<int>& log, int most) {
    CK(cudaDeviceSynchronize());
    auto v = log.get();
    printf("%s", name);
    for (int i = 0; i < most && v[i] != -2; i++) printf(v[i] == -1 || v[i] == -3 ? " |" : " %d", v[i]);
    printf("\n");
}
int main() {
    { Buf<int> s(200), c(1); parent<<<1, 1>>>(s, c); list("launches", s, 200); list("ran", c, 1); printf("host %d\n", cudaGetLastError()); }
    {
        std::vector<int> codes = {0, 1, 2, 3, 9, 21, 65, 68, 69, 98, 101, 215, 400, 700, 701, 719, 912, 999, 12345};
        Buf<int> d(codes); Buf<char> out(codes.size() * 256);
        texts<<<1, 1>>>(out, d, codes.size());
        CK(cudaDeviceSynchronize());
        auto v = out.get();
        for (size_t i = 0; i < codes.size(); i++) printf("%d %s: %s\n", codes[i], &v[i * 256], &v[i * 256 + 100]);
    }
    {
        std::vector<int> which;
        for (int i = 1; i <= 40; i++) if (i != 13 && i != 16 && i != 20 && i != 33 && i != 34 && i != 36 && i != 18) which.push_back(i);
        for (int i : {41, 47, 50, 75, 76, 78, 79, 80, 81, 82, 83, 86, 87, 88, 89, 90, 91, 95, 97, 106, 111, 115, 120}) which.push_back(i);
        Buf<int> w(which), s(which.size() * 2);
        attributes<<<1, 1>>>(s, w, which.size());
        CK(cudaDeviceSynchronize());
        auto v = s.get();
        for (size_t i = 0; i < which.size(); i++) {
            int host = -7;
            int e = cudaDeviceGetAttribute(&host, (cudaDeviceAttr)which[i], 0);
            printf("attribute %d: %d %s host %d\n", which[i], v[2 * i], v[2 * i + 1] == host ? "same" : v[2 * i + 1] == -7 ? "unset" : "OTHER", e);
        }
        cudaGetLastError();
    }
    {
        Buf<int> s(200); Buf<size_t> l(14);
        about<<<1, 1>>>(s, l);
        list("about", s, 200);
        auto v = l.get();
        for (int i = 0; i < 7; i++) printf("limit %d: %d %zu\n", i, (int)v[2 * i], v[2 * i + 1]);
    }
    { Buf<int> s(3); nest<<<1, 1>>>(s, 0); list("nest", s, 3); }
    { Buf<int> s(16); each_thread<<<1, 8>>>(s); list("each thread", s, 16); }
    { Buf<int> s(2); leaves<<<1, 1>>>(s); list("inherits", s, 2); }
    printf("host %d\n", cudaGetLastError());
}
