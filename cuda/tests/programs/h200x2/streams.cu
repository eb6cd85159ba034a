// Streams and events belong to devices; what may be mixed and what may not.
#include "devices.h"

static void host_function(void* counter) {
    ++*(int*)counter;
}

static void mixing() {
    cudaStream_t zero, one;
    cudaEvent_t of_zero, of_one, untimed;
    int *here, *there;
    OK(cudaSetDevice(1));
    OK(cudaStreamCreate(&one));
    OK(cudaEventCreate(&of_one));
    OK(cudaMalloc(&there, 4096));
    OK(cudaMemset(there, 0, 4096));
    OK(cudaSetDevice(0));
    OK(cudaStreamCreate(&zero));
    OK(cudaEventCreate(&of_zero));
    OK(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
    OK(cudaMalloc(&here, 4096));
    OK(cudaMemset(here, 0, 4096));
    add_kernel<<<1, 1, 0, one>>>(there, 1);
    T(cudaGetLastError());
    add_kernel<<<1, 1, 0, zero>>>(here, 1);
    T(cudaGetLastError());
    T(cudaEventRecord(of_zero, one));
    T(cudaEventRecord(of_one, zero));
    T(cudaEventRecord(of_one, 0));
    T(cudaEventRecord(of_one, one));
    T(cudaEventRecord(of_zero, zero));
    T(cudaStreamWaitEvent(one, of_zero, 0));
    T(cudaStreamWaitEvent(zero, of_one, 0));
    T(cudaStreamSynchronize(one));
    T(cudaStreamQuery(one));
    T(cudaEventQuery(of_one));
    T(cudaEventSynchronize(of_one));
    float ms = 0;
    T(cudaEventElapsedTime(&ms, of_zero, of_one));
    int called = 0;
    T(cudaLaunchHostFunc(one, host_function, &called));
    T(cudaStreamSynchronize(one));
    SHOW(called);
    int device = -1;
    T(cudaStreamGetDevice(one, &device));
    SHOW(device);
    T(cudaStreamGetDevice(zero, &device));
    SHOW(device);
    unsigned flags = 9;
    T(cudaStreamGetFlags(one, &flags));
    T(cudaMemsetAsync(there, 1, 16, one));
    T(cudaMemcpyAsync(here, there, 16, cudaMemcpyDefault, one));
    T(cudaStreamSynchronize(one));
    SHOW(sum_of(here, 1));
    // One waits for the other's kernel.
    OK(cudaMemset(here, 0, 4096));
    OK(cudaDeviceSynchronize());
    for (int turn = 0; turn < 10; turn++) {
        OK(cudaSetDevice(0));
        add_kernel<<<1, 32, 0, zero>>>(here, 1);
        OK(cudaEventRecord(of_zero, zero));
        OK(cudaSetDevice(1));
        OK(cudaStreamWaitEvent(one, of_zero, 0));
        OK(cudaMemcpyPeerAsync(there, 1, here, 0, 4, one));
        add_kernel<<<1, 32, 0, one>>>(there, 1);
        OK(cudaMemcpyPeerAsync(here, 0, there, 1, 4, one));
        OK(cudaEventRecord(of_one, one));
        OK(cudaStreamWaitEvent(zero, of_one, 0));
    }
    OK(cudaStreamSynchronize(one));
    SHOW(sum_of(here, 1));
    T(cudaStreamDestroy(zero));
    T(cudaEventDestroy(of_zero));
    T(cudaEventDestroy(untimed));
    T(cudaMallocAsync(&here, 64, one));
    cudaPointerAttributes a;
    T(cudaPointerGetAttributes(&a, here));
    SHOW(a.device);
    OK(cudaSetDevice(0));
    T(cudaFreeAsync(here, one));
    T(cudaStreamDestroy(one));
}

static void graphs() {
    cudaStream_t zero, one;
    cudaEvent_t fork, join;
    int *here, *there;
    OK(cudaSetDevice(1));
    OK(cudaStreamCreate(&one));
    OK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
    OK(cudaMalloc(&there, 4096));
    OK(cudaMemset(there, 0, 4096));
    OK(cudaDeviceSynchronize());
    OK(cudaSetDevice(0));
    OK(cudaStreamCreate(&zero));
    OK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    OK(cudaMalloc(&here, 4096));
    OK(cudaMemset(here, 0, 4096));
    T(cudaStreamBeginCapture(zero, cudaStreamCaptureModeThreadLocal));
    fill_kernel<<<1, 32, 0, zero>>>(here, 32, 1);
    OK(cudaEventRecord(fork, zero));
    OK(cudaStreamWaitEvent(one, fork, 0));
    OK(cudaSetDevice(1));
    add_kernel<<<1, 32, 0, one>>>(there, 2);
    OK(cudaMemsetAsync(there + 1, 1, 4, one));
    OK(cudaMemcpyAsync(there + 2, here, 8, cudaMemcpyDefault, one));
    OK(cudaEventRecord(join, one));
    OK(cudaStreamWaitEvent(zero, join, 0));
    OK(cudaSetDevice(0));
    cudaGraph_t graph;
    T(cudaStreamEndCapture(zero, &graph));
    cudaGraphExec_t exec;
    T(cudaGraphInstantiate(&exec, graph, 0));
    T(cudaGraphLaunch(exec, zero));
    T(cudaGraphLaunch(exec, zero));
    T(cudaStreamSynchronize(zero));
    SHOW(sum_of(here, 32));
    SHOW(sum_of(there, 4));
}

int main(int count, char** words) {
    return run_cases(count, words, {{"mixing", mixing}, {"graphs", graphs}});
}
