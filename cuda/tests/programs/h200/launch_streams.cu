// The order of what kernels launch: null streams, named streams, events, fire and forget, tail launches, copies, fills.
#include "common.h"
__device__ int clock_;
__global__ void note(int* log, int what) { log[atomicAdd(&clock_, 1)] = what; }
__global__ void add(int* data, int by) { data[threadIdx.x] = data[threadIdx.x] * 3 + by; }
__global__ void null_stream(int* log) {
    for (int i = 0; i < 6; i++) note<<<1, 1>>>(log, threadIdx.x * 100 + i);
}
__global__ void tail_of_child(int* log, int what) {
    note<<<1, 1, 0, cudaStreamTailLaunch>>>(log, what + 1);
    note<<<1, 1>>>(log, what);
}
__global__ void tails(int* log) {
    note<<<1, 1, 0, cudaStreamTailLaunch>>>(log, 90);
    tail_of_child<<<1, 1, 0, cudaStreamTailLaunch>>>(log, 70);
    note<<<1, 1, 0, cudaStreamTailLaunch>>>(log, 80);
    tail_of_child<<<1, 1>>>(log, 10);
    note<<<1, 1>>>(log, 20);
}
__global__ void again(int* log, int left) {
    log[left] += left * 3 + 1;
    if (left > 0) again<<<1, 1, 0, cudaStreamTailLaunch>>>(log, left - 1);
}
__global__ void named(int* data) {
    cudaStream_t s, t;
    cudaEvent_t e, f;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
    cudaEventCreateWithFlags(&f, cudaEventDisableTiming);
    add<<<1, 32, 0, s>>>(data, 1);
    add<<<1, 32, 0, s>>>(data, 2);
    cudaEventRecord(e, s);
    cudaStreamWaitEvent(t, e, 0);
    add<<<1, 32, 0, t>>>(data, 5);
    cudaEventRecord(f, t);
    cudaStreamWaitEvent(s, f, 0);
    add<<<1, 32, 0, s>>>(data, 7);
    cudaEventDestroy(e);
    cudaEventDestroy(f);
    cudaStreamDestroy(s);
    cudaStreamDestroy(t);
}
// Threads of a block share its null stream and the streams that one of them makes.
__global__ void shared_stream(int* data) {
    __shared__ cudaStream_t s;
    if (threadIdx.x == 0) cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    for (int i = 0; i < (int)blockDim.x; i++) {
        __syncthreads();
        if ((int)threadIdx.x == i) add<<<1, 32, 0, s>>>(data, i);
        if ((int)threadIdx.x == i) add<<<1, 32>>>(data + 32, 10 * i);
    }
    __syncthreads();
    if (threadIdx.x == 0) cudaStreamDestroy(s);
}
__global__ void sum(const int* data, int n, int* out) {
    int total = 0;
    for (int i = 0; i < n; i++) total += data[i];
    *out = total;
}
__global__ void produce(int* data, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) data[i] = i * 5 - 3;
}
// What a tail launch sees: all of its parent and of the parent's children.
__global__ void pipeline(int* data, int n, int* out) {
    if (threadIdx.x == 0 && blockIdx.x == 0) sum<<<1, 1, 0, cudaStreamTailLaunch>>>(data, n * 4, out);
    data[n * 3 + threadIdx.x + blockIdx.x * blockDim.x] = threadIdx.x;
    if (threadIdx.x == 0 && blockIdx.x < 3) produce<<<1, 64, 0, cudaStreamFireAndForget>>>(data + blockIdx.x * n, n);
}
__device__ cudaPitchedPtr pitched(void* p, size_t pitch, size_t x, size_t y) { cudaPitchedPtr r; r.ptr = p; r.pitch = pitch; r.xsize = x; r.ysize = y; return r; }
__device__ cudaExtent extent(size_t w, size_t h, size_t d) { cudaExtent r; r.width = w; r.height = h; r.depth = d; return r; }
__global__ void copies(char* to, char* from, int* status) {
    int at = 0;
    status[at++] = cudaMemsetAsync(from, 0x5a, 1000, 0);
    status[at++] = cudaMemcpyAsync(to + 3, from + 1, 777, cudaMemcpyDeviceToDevice, 0);
    status[at++] = cudaMemset2DAsync(to + 2000, 64, 0x33, 20, 7, 0);
    status[at++] = cudaMemcpy2DAsync(to + 4000, 50, to + 2000, 64, 20, 7, cudaMemcpyDeviceToDevice, 0);
    status[at++] = cudaMemset3DAsync(pitched(to + 6000, 32, 32, 4), 0x77, extent(9, 3, 2), 0);
    cudaMemcpy3DParms p = {};
    p.srcPtr = pitched(to + 6000, 32, 32, 4);
    p.dstPtr = pitched(to + 7000, 16, 16, 3);
    p.extent = extent(9, 3, 2);
    p.kind = cudaMemcpyDeviceToDevice;
    status[at++] = cudaMemcpy3DAsync(&p, 0);
    cudaStream_t s;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    status[at++] = cudaMemsetAsync(from + 2000, 1, 100, s);
    status[at++] = cudaMemsetAsync(from + 2050, 2, 100, s);
    status[at++] = cudaMemcpyAsync(to + 9000, from + 2000, 150, cudaMemcpyDefault, s);
    status[at++] = cudaMemcpyAsync(to, from, 0, cudaMemcpyHostToDevice, s);
    status[at++] = cudaMemcpyAsync(to, from, 4, cudaMemcpyHostToDevice, s);
    status[at++] = cudaMemcpyAsync(nullptr, from, 4, cudaMemcpyDeviceToDevice, s);
    status[at++] = cudaGetLastError();
    status[at++] = cudaGetLastError();
    status[at++] = cudaMemsetAsync(nullptr, 1, 4, s);
    status[at++] = cudaMemsetAsync(from, 1, 0, s);
    status[at++] = cudaStreamDestroy(s);
}
static int reset() { int zero = 0; CK(cudaMemcpyToSymbol(clock_, &zero, 4)); return 0; }
static void list(const char* name, Buf<int>& log, int n) {
    CK(cudaDeviceSynchronize());
    auto v = log.get();
    printf("%s", name);
    for (int i = 0; i < n; i++) printf(" %d", v[i]);
    printf("\n");
}
int main() {
    { reset(); Buf<int> log(64); null_stream<<<1, 1>>>(log); list("null stream", log, 6); }
    { reset(); Buf<int> log(64); tails<<<1, 1>>>(log); list("tails", log, 8); }
    { Buf<int> log(201); again<<<1, 1>>>(log, 200); list("tail of a tail", log, 201); }
    { Buf<int> data(32); named<<<1, 1>>>(data); list("events", data, 2); }
    { Buf<int> data(64); shared_stream<<<1, 8>>>(data); list("shared streams", data, 64); }
    { Buf<int> data(4 * 256), out(1); pipeline<<<4, 64>>>(data, 256, out); list("pipeline", out, 1); }
    {
        Buf<char> to(10000), from(10000);
        Buf<int> status(32);
        copies<<<1, 1>>>(to, from, status);
        list("copies", status, 18);
    }
    // What the host enqueues behind a kernel waits for what that launches.
    { Buf<int> data(256), out(1); pipeline<<<4, 16>>>(data, 64, out); sum<<<1, 1>>>(data, 256, out); list("behind", out, 1); }
}
