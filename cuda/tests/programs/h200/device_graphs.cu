// Graphs that kernels launch: fire and forget, tail, sibling, and a graph that launches itself again.
#include "common.h"
__global__ void add(int* p, int by) { *p = *p * 3 + by; }
__global__ void launch(int* p, cudaGraphExec_t e, int* status) {
    *p = *p * 3 + 1;
    *status = cudaGraphLaunch(e, cudaStreamGraphFireAndForget);
}
__global__ void launch_tail(int* p, cudaGraphExec_t e, int* status) {
    *status = cudaGraphLaunch(e, cudaStreamGraphTailLaunch);
    *p = *p * 3 + 2;
}
__global__ void launch_sibling(int* p, cudaGraphExec_t e, int* status) {
    *p = *p * 3 + 1;
    *status = cudaGraphLaunch(e, cudaStreamGraphFireAndForgetAsSibling);
}
__global__ void again(int* p, int* status) {
    if (++*p < 10) *status = cudaGraphLaunch(cudaGetCurrentGraphExec(), cudaStreamGraphTailLaunch);
}
__global__ void many(int* p, cudaGraphExec_t e, int* status) {
    for (int i = 0; i < 5; i++) status[i] = cudaGraphLaunch(e, cudaStreamGraphTailLaunch);
}
__global__ void outside(int* p, cudaGraphExec_t e) {
    p[0] = cudaGetCurrentGraphExec() != 0;
    p[1] = cudaGraphLaunch(e, cudaStreamGraphFireAndForget);
    p[2] = cudaGetLastError();
}
__global__ void wrong(int* p, cudaGraphExec_t e) {
    p[0] = cudaGetCurrentGraphExec() != 0;
    p[1] = cudaGraphLaunch(e, 0);
    p[2] = cudaGraphLaunch(e, cudaStreamFireAndForget);
    p[3] = cudaGraphLaunch((cudaGraphExec_t)0, cudaStreamGraphFireAndForget);
}
template <class... A>
static cudaGraphNode_t kernel(cudaGraph_t g, std::vector<cudaGraphNode_t> after, void (*f)(A...), A... a) {
    void* args[] = {(void*)&a...};
    cudaKernelNodeParams p = {};
    p.func = (void*)f; p.gridDim = dim3(1); p.blockDim = dim3(1); p.kernelParams = args;
    cudaGraphNode_t n;
    CK(cudaGraphAddKernelNode(&n, g, after.data(), after.size(), &p));
    return n;
}
static cudaGraphExec_t inner(int* p, cudaStream_t s) {
    cudaGraph_t g; CK(cudaGraphCreate(&g, 0));
    auto a = kernel<int*, int>(g, {}, add, p, 5);
    kernel<int*, int>(g, {a}, add, p, 7);
    cudaGraphExec_t e; CK(cudaGraphInstantiate(&e, g, cudaGraphInstantiateFlagDeviceLaunch));
    CK(cudaGraphUpload(e, s));
    unsigned long long f = 0; CK(cudaGraphExecGetFlags(e, &f)); printf("flags %llu ", f);
    CK(cudaGraphDestroy(g));
    return e;
}
static void list(const char* name, Buf<int>& b) {
    printf("%s", name);
    for (int x : b.get()) printf(" %d", x);
    printf("\n");
}
int main() {
    cudaStream_t s; CK(cudaStreamCreate(&s));
    for (int mode = 0; mode < 3; mode++) {
        Buf<int> a(1), b(1), status(std::vector<int>{-1});
        cudaGraphExec_t e = inner(mode == 1 ? (int*)a : (int*)b, s);
        cudaGraph_t g; CK(cudaGraphCreate(&g, 0));
        auto n = mode == 0 ? kernel<int*, cudaGraphExec_t, int*>(g, {}, launch, a, e, status) : mode == 1 ? kernel<int*, cudaGraphExec_t, int*>(g, {}, launch_tail, a, e, status) : kernel<int*, cudaGraphExec_t, int*>(g, {}, launch_sibling, a, e, status);
        kernel<int*, int>(g, {n}, add, a, 4);
        cudaGraphExec_t o; CK(cudaGraphInstantiate(&o, g, cudaGraphInstantiateFlagDeviceLaunch));
        CK(cudaGraphUpload(o, s));
        for (int i = 0; i < 2; i++) { CK(cudaGraphLaunch(o, s)); CK(cudaStreamSynchronize(s)); }
        CK(cudaDeviceSynchronize());
        list("a", a); list("b", b); list("status", status);
    }
    {
        Buf<int> a(1), status(std::vector<int>{-1});
        cudaGraph_t g; CK(cudaGraphCreate(&g, 0));
        auto n = kernel<int*, int*>(g, {}, again, a, status);
        cudaGraphExec_t o; CK(cudaGraphInstantiate(&o, g, cudaGraphInstantiateFlagDeviceLaunch));
        CK(cudaGraphUpload(o, s)); CK(cudaGraphLaunch(o, s)); CK(cudaStreamSynchronize(s));
        list("again", a); list("status", status);
    }
    {
        Buf<int> a(1), status(5);
        cudaGraphExec_t e = inner(a, s);
        cudaGraph_t g; CK(cudaGraphCreate(&g, 0));
        kernel<int*, cudaGraphExec_t, int*>(g, {}, many, a, e, status);
        cudaGraphExec_t o; CK(cudaGraphInstantiate(&o, g, cudaGraphInstantiateFlagDeviceLaunch));
        CK(cudaGraphUpload(o, s)); CK(cudaGraphLaunch(o, s)); printf("many: %d\n", cudaStreamSynchronize(s));
        list("many", a); list("status", status);
    }
    {
        Buf<int> a(1), b(4);
        cudaGraphExec_t e = inner(a, s);
        outside<<<1, 1, 0, s>>>(b, e); printf("outside: %d\n", cudaStreamSynchronize(s)); list("outside", b); list("outside", a);
        cudaGraph_t g; CK(cudaGraphCreate(&g, 0));
        kernel<int*, cudaGraphExec_t>(g, {}, wrong, b, e);
        cudaGraphExec_t o; CK(cudaGraphInstantiate(&o, g, cudaGraphInstantiateFlagDeviceLaunch));
        CK(cudaGraphLaunch(o, s)); printf("wrong: %d\n", cudaStreamSynchronize(s)); list("wrong", b);
        cudaGraph_t h; CK(cudaGraphCreate(&h, 0)); cudaGraphNode_t n; CK(cudaGraphAddEmptyNode(&n, h, 0, 0));
        printf("empty: %d\n", cudaGraphInstantiate(&o, h, cudaGraphInstantiateFlagDeviceLaunch));
        cudaHostNodeParams hp = {[](void*) {}, nullptr}; CK(cudaGraphAddHostNode(&n, h, 0, 0, &hp));
        printf("host: %d\n", cudaGraphInstantiate(&o, h, cudaGraphInstantiateFlagDeviceLaunch));
        printf("both: %d\n", cudaGraphInstantiate(&o, g, cudaGraphInstantiateFlagDeviceLaunch | cudaGraphInstantiateFlagAutoFreeOnLaunch));
    }
}
