// Programmatic dependent launch: attributes of launches, events and edges of graphs.
#include "common.h"
__global__ void primary(int* data, int n) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < n) data[at] = data[at] * 2 + at;
    cudaTriggerProgrammaticLaunchCompletion();
}
__global__ void secondary(const int* data, int* out, int n) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    cudaGridDependencySynchronize();
    if (at < n) out[at] = out[at] + data[n - 1 - at] * 3;
}
template <class... A>
static cudaError_t launch(void (*f)(A...), dim3 g, dim3 b, cudaStream_t s, std::vector<cudaLaunchAttribute> attrs, A... a) {
    cudaLaunchConfig_t c = {};
    c.gridDim = g; c.blockDim = b; c.stream = s; c.attrs = attrs.data(); c.numAttrs = attrs.size();
    return cudaLaunchKernelEx(&c, f, a...);
}
static cudaLaunchAttribute overlap(int on) {
    cudaLaunchAttribute a = {};
    a.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    a.val.programmaticStreamSerializationAllowed = on;
    return a;
}
static cudaLaunchAttribute event(cudaEvent_t e, int flags, int trigger) {
    cudaLaunchAttribute a = {};
    a.id = cudaLaunchAttributeProgrammaticEvent;
    a.val.programmaticEvent.event = e; a.val.programmaticEvent.flags = flags; a.val.programmaticEvent.triggerAtBlockStart = trigger;
    return a;
}
static cudaLaunchAttribute completion(cudaEvent_t e, int flags) {
    cudaLaunchAttribute a = {};
    a.id = cudaLaunchAttributeLaunchCompletionEvent;
    a.val.launchCompletionEvent.event = e; a.val.launchCompletionEvent.flags = flags;
    return a;
}
int main() {
    const int n = 1000;
    cudaStream_t s, t; CK(cudaStreamCreate(&s)); CK(cudaStreamCreate(&t));
    cudaEvent_t e, timed; CK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming)); CK(cudaEventCreate(&timed));
    Buf<int> data(n), out(n);
    for (int i = 0; i < 5; i++) {
        primary<<<8, 128, 0, s>>>(data, n);
        CK((launch<const int*, int*, int>(secondary, 8, 128, s, {overlap(i % 2)}, data, out, n)));
        CK((launch<int*, int>(primary, 8, 128, s, {overlap(0)}, data, n)));
    }
    CK(cudaStreamSynchronize(s));
    show("stream", out);
    CK((launch<int*, int>(primary, 8, 128, s, {event(e, 0, 0)}, data, n)));
    CK(cudaStreamWaitEvent(t, e, 0));
    CK((launch<const int*, int*, int>(secondary, 8, 128, t, {overlap(1)}, data, out, n)));
    CK(cudaStreamSynchronize(t));
    CK(cudaStreamSynchronize(s));
    show("event", out);
    CK((launch<int*, int>(primary, 8, 128, s, {completion(e, 0)}, data, n)));
    CK(cudaEventSynchronize(e));
    CK(cudaStreamSynchronize(s));
    show("completion", data);
    auto plain = [&](cudaLaunchAttribute a) { int r = launch<int*, int>(primary, 8, 128, s, {a}, data, n); cudaGetLastError(); return r; };
    printf("refused %d %d %d %d %d\n", plain(event(timed, 0, 0)), plain(event(nullptr, 0, 0)), plain(completion(timed, 0)), plain(completion(nullptr, 0)), plain(event(e, 0, 1)));
    CK(cudaDeviceSynchronize());
    // Captured: the edge says what the second kernel waits for.
    cudaGraph_t g;
    CK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    primary<<<8, 128, 0, s>>>(data, n);
    CK((launch<const int*, int*, int>(secondary, 8, 128, s, {overlap(1)}, data, out, n)));
    CK(cudaStreamEndCapture(s, &g));
    size_t edges = 1;
    cudaGraphNode_t from, to; cudaGraphEdgeData d = {};
    CK(cudaGraphGetEdges(g, &from, &to, &d, &edges));
    printf("edges %zu port %d %d type %d\n", edges, d.from_port, d.to_port, d.type);
    cudaGraphExec_t x; CK(cudaGraphInstantiate(&x, g, 0));
    CK(cudaGraphLaunch(x, s)); CK(cudaStreamSynchronize(s));
    show("graph", out);
}
