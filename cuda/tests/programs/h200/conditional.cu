// Conditional nodes: if, else, while, switch, one in another, default values, and what is refused.
#include "common.h"
__global__ void set(cudaGraphConditionalHandle h, unsigned v) { cudaGraphSetConditional(h, v); }
__global__ void from(cudaGraphConditionalHandle h, const int* p) { cudaGraphSetConditional(h, *p); }
__global__ void add(int* p, int by) { *p += by; }
__global__ void count_down(int* p, cudaGraphConditionalHandle h) { int left = --*p; cudaGraphSetConditional(h, left > 0); }
__global__ void collatz(unsigned* n, int* steps, cudaGraphConditionalHandle h) {
    *n = *n % 2 ? 3 * *n + 1 : *n / 2;
    ++*steps;
    cudaGraphSetConditional(h, *n != 1);
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
static cudaError_t add_node(cudaGraphNode_t* n, cudaGraph_t g, std::vector<cudaGraphNode_t> after, cudaGraphNodeParams* p) {
#if CUDART_VERSION >= 13000
    return cudaGraphAddNode(n, g, after.data(), nullptr, after.size(), p);
#else
    return cudaGraphAddNode(n, g, after.data(), after.size(), p);
#endif
}
static cudaGraphNodeParams condition(cudaGraphConditionalHandle h, cudaGraphConditionalNodeType t, unsigned size) {
    cudaGraphNodeParams p = {};
    p.type = cudaGraphNodeTypeConditional;
    p.conditional.handle = h; p.conditional.type = t; p.conditional.size = size;
    return p;
}
static void run(const char* name, cudaGraph_t g, Buf<int>& b, int times = 1) {
    cudaGraphExec_t e;
    CK(cudaGraphInstantiate(&e, g, 0));
    printf("%s", name);
    for (int i = 0; i < times; i++) {
        CK(cudaGraphLaunch(e, 0));
        CK(cudaDeviceSynchronize());
        for (int x : b.get()) printf(" %d", x);
        printf(i + 1 < times ? " |" : "\n");
    }
    CK(cudaGraphExecDestroy(e));
    CK(cudaGraphDestroy(g));
}
int main() {
    for (unsigned v : {0u, 1u, 7u}) for (unsigned size : {1u, 2u}) {
        cudaGraph_t g; CK(cudaGraphCreate(&g, 0));
        Buf<int> b(3);
        cudaGraphConditionalHandle h; CK(cudaGraphConditionalHandleCreate(&h, g, 0, 0));
        auto first = kernel(g, {}, set, h, v);
        auto p = condition(h, cudaGraphCondTypeIf, size);
        cudaGraphNode_t n; CK(add_node(&n, g, {first}, &p));
        kernel<int*, int>(p.conditional.phGraph_out[0], {}, add, b, 10);
        if (size == 2) kernel<int*, int>(p.conditional.phGraph_out[1], {}, add, b + 1, 100);
        kernel<int*, int>(g, {n}, add, b + 2, 1);
        cudaGraphNodeType t; CK(cudaGraphNodeGetType(n, &t));
        size_t nodes = 0; CK(cudaGraphGetNodes(g, nullptr, &nodes));
        printf("type %d nodes %zu ", (int)t, nodes);
        run("if", g, b, 2);
    }
    {   // A loop, started by the value that the handle has at each launch.
        cudaGraph_t g; CK(cudaGraphCreate(&g, 0));
        Buf<int> b(std::vector<int>{5, 0});
        cudaGraphConditionalHandle h; CK(cudaGraphConditionalHandleCreate(&h, g, 1, cudaGraphCondAssignDefault));
        auto p = condition(h, cudaGraphCondTypeWhile, 1);
        cudaGraphNode_t n; CK(add_node(&n, g, {}, &p));
        cudaGraph_t body = p.conditional.phGraph_out[0];
        auto a = kernel<int*, int>(body, {}, add, b + 1, 3);
        kernel<int*, cudaGraphConditionalHandle>(body, {a}, count_down, b, h);
        run("while", g, b, 2);
    }
    {   // Without a default the handle keeps what it had.
        cudaGraph_t g; CK(cudaGraphCreate(&g, 0));
        Buf<int> b(1);
        cudaGraphConditionalHandle h; CK(cudaGraphConditionalHandleCreate(&h, g, 1, cudaGraphCondAssignDefault));
        auto p = condition(h, cudaGraphCondTypeIf, 1);
        cudaGraphNode_t n; CK(add_node(&n, g, {}, &p));
        auto a = kernel<int*, int>(p.conditional.phGraph_out[0], {}, add, b, 1);
        kernel<cudaGraphConditionalHandle, unsigned>(p.conditional.phGraph_out[0], {a}, set, h, 0);
        run("default", g, b, 3);
    }
    for (int v : {0, 1, 2, 3, 9}) {
        cudaGraph_t g; CK(cudaGraphCreate(&g, 0));
        Buf<int> b(4), in(std::vector<int>{v});
        cudaGraphConditionalHandle h; CK(cudaGraphConditionalHandleCreate(&h, g, 0, 0));
        auto first = kernel<cudaGraphConditionalHandle, const int*>(g, {}, from, h, in);
        auto p = condition(h, cudaGraphCondTypeSwitch, 4);
        cudaGraphNode_t n; CK(add_node(&n, g, {first}, &p));
        for (int i = 0; i < 4; i++) kernel<int*, int>(p.conditional.phGraph_out[i], {}, add, b + i, v + 1);
        run("switch", g, b);
    }
    {   // A branch in a loop, with copies and fills, captured into the body.
        cudaGraph_t g; CK(cudaGraphCreate(&g, 0));
        Buf<unsigned> n(std::vector<unsigned>{27});
        Buf<int> b(2);
        cudaGraphConditionalHandle loop;
        CK(cudaGraphConditionalHandleCreate(&loop, g, 1, cudaGraphCondAssignDefault));
        auto p = condition(loop, cudaGraphCondTypeWhile, 1);
        cudaGraphNode_t node; CK(add_node(&node, g, {}, &p));
        cudaGraph_t body = p.conditional.phGraph_out[0];
        cudaStream_t s; CK(cudaStreamCreate(&s));
        CK(cudaStreamBeginCaptureToGraph(s, body, nullptr, nullptr, 0, cudaStreamCaptureModeRelaxed));
        collatz<<<1, 1, 0, s>>>(n, b, loop);
        CK(cudaMemcpyAsync(b + 1, b, 4, cudaMemcpyDeviceToDevice, s));
        CK(cudaStreamEndCapture(s, nullptr));
        size_t nodes = 0; CK(cudaGraphGetNodes(body, nullptr, &nodes));
        printf("captured %zu ", nodes);
        auto last = kernel<cudaGraphConditionalHandle, unsigned>(body, {}, set, loop, 0u);
        CK(cudaGraphDestroyNode(last));
        run("loop", g, b);
        CK(cudaStreamDestroy(s));
    }
    {   // A loop in a branch.
        cudaGraph_t g; CK(cudaGraphCreate(&g, 0));
        Buf<int> b(std::vector<int>{4, 0, 0});
        cudaGraphConditionalHandle yes, loop;
        CK(cudaGraphConditionalHandleCreate(&yes, g, 1, cudaGraphCondAssignDefault));
        auto p = condition(yes, cudaGraphCondTypeIf, 1);
        cudaGraphNode_t n; CK(add_node(&n, g, {}, &p));
        cudaGraph_t body = p.conditional.phGraph_out[0];
        cudaError_t inner = cudaGraphConditionalHandleCreate(&loop, body, 1, cudaGraphCondAssignDefault);
        printf("inner handle %d ", inner);
        auto q = condition(loop, cudaGraphCondTypeWhile, 1);
        cudaGraphNode_t m; CK(add_node(&m, body, {}, &q));
        auto a = kernel<int*, int>(q.conditional.phGraph_out[0], {}, add, b + 1, 2);
        kernel<int*, cudaGraphConditionalHandle>(q.conditional.phGraph_out[0], {a}, count_down, b, loop);
        kernel<int*, int>(body, {m}, add, b + 2, 50);
        run("nested", g, b);
    }
    {   // A node in a child graph, a clone, an update.
        cudaGraph_t g, c; CK(cudaGraphCreate(&g, 0));
        Buf<int> b(std::vector<int>{3, 0});
        cudaGraphConditionalHandle h; CK(cudaGraphConditionalHandleCreate(&h, g, 1, cudaGraphCondAssignDefault));
        auto p = condition(h, cudaGraphCondTypeWhile, 1);
        cudaGraphNode_t n; CK(add_node(&n, g, {}, &p));
        auto a = kernel<int*, int>(p.conditional.phGraph_out[0], {}, add, b + 1, 1);
        kernel<int*, cudaGraphConditionalHandle>(p.conditional.phGraph_out[0], {a}, count_down, b, h);
        int cloned = cudaGraphClone(&c, g); cudaGetLastError();
        cudaGraph_t parent; CK(cudaGraphCreate(&parent, 0)); cudaGraphNode_t m;
        int added = cudaGraphAddChildGraphNode(&m, parent, nullptr, 0, g); cudaGetLastError();
        printf("clone %d child %d ", cloned, added);
        run("own", g, b);
    }
    {   // What is refused.
        cudaGraph_t g, other; CK(cudaGraphCreate(&g, 0)); CK(cudaGraphCreate(&other, 0));
        cudaGraphConditionalHandle h, k, l;
        printf("refused %d", cudaGraphConditionalHandleCreate(&h, nullptr, 0, 0));
        printf(" %d", cudaGraphConditionalHandleCreate(&h, g, 0, 2));
        CK(cudaGraphConditionalHandleCreate(&h, g, 0, 0));
        CK(cudaGraphConditionalHandleCreate(&k, other, 0, 0));
        CK(cudaGraphConditionalHandleCreate(&l, g, 5, 0));
        cudaGraphNode_t n;
        auto t = [&](cudaGraphConditionalHandle h, int type, unsigned size) { auto p = condition(h, (cudaGraphConditionalNodeType)type, size); int r = add_node(&n, g, {}, &p); if (!r) { size_t c = 9; cudaGraphGetNodes(p.conditional.phGraph_out[0], nullptr, &c); printf(" (body %zu)", c); } return r; };
        printf(" size %d", t(h, 0, 0)); printf(" %d", t(h, 0, 3)); printf(" %d", t(h, 1, 2)); printf(" %d", t(h, 2, 0)); printf(" type %d", t(h, 7, 1)); printf(" other %d", t(k, 0, 1)); printf(" none %d", t(0, 0, 1));
        printf(" good %d", t(h, 0, 1)); printf(" again %d", t(h, 0, 1));
        cudaGraphExec_t e; printf(" unused %d", cudaGraphInstantiate(&e, g, 0));
        auto p = condition(l, cudaGraphCondTypeIf, 1);
        CK(add_node(&n, g, {}, &p));
        printf(" used %d", cudaGraphInstantiate(&e, g, 0));
        cudaGraph_t body = p.conditional.phGraph_out[0];
        cudaHostNodeParams hp = {[](void*) {}, nullptr};
        cudaGraphNode_t m;
        printf(" host %d", cudaGraphAddHostNode(&m, body, 0, 0, &hp));
        printf(" then %d", cudaGraphInstantiate(&e, g, 0));
        printf(" destroy %d", cudaGraphDestroy(body));
        printf(" node %d", cudaGraphDestroyNode(n));
        printf(" then %d\n", cudaGraphInstantiate(&e, g, 0));
        cudaGetLastError();
    }
}
