// Contexts of two devices by the driver interface.
#include "devices.h"

static void peers() {
    OK(cuInit(0));
    CUdevice zero, one;
    T(cuDeviceGet(&zero, 0));
    T(cuDeviceGet(&one, 1));
    T(cuDeviceGet(&one, 2));
    CUcontext a, b, c;
    OK(cuDevicePrimaryCtxRetain(&a, 0));
    OK(cuDevicePrimaryCtxRetain(&b, 1));
    OK(cuCtxCreate(&c, nullptr, 0, 1));
    OK(cuCtxSetCurrent(a));
    T(cuCtxEnablePeerAccess(a, 0));
    T(cuCtxEnablePeerAccess(nullptr, 0));
    T(cuCtxEnablePeerAccess(b, 2));
    T(cuCtxDisablePeerAccess(b));
    T(cuCtxEnablePeerAccess(b, 0));
    T(cuCtxEnablePeerAccess(c, 0));
    T(cuCtxEnablePeerAccess(b, 0));
    T(cuCtxDisablePeerAccess(a));
    OK(cuCtxSetCurrent(c));
    T(cuCtxEnablePeerAccess(b, 0));
    T(cuCtxEnablePeerAccess(a, 0));
    T(cuCtxDestroy(c));
    OK(cuCtxSetCurrent(a));
    CUdeviceptr p, q;
    OK(cuMemAlloc(&p, 64));
    OK(cuCtxSetCurrent(b));
    OK(cuMemAlloc(&q, 64));
    T(cuMemcpyPeer(p, a, q, b, 64));
    T(cuMemcpyPeer(p, b, q, a, 64));
    T(cuMemcpyPeer(p, nullptr, q, b, 64));
    T(cuMemcpyDtoD(p, q, 64));
    T(cuMemsetD32(p, 7, 16));
    unsigned word = 0;
    T(cuMemcpyDtoH(&word, p, 4));
    SHOW(word);
    CUcontext owner = nullptr;
    T(cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, p));
    SHOW(owner == a);
    int ordinal = -1;
    T(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, p));
    SHOW(ordinal);
    void* pinned;
    OK(cuMemHostAlloc(&pinned, 64, 0));
    T(cuPointerGetAttribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, (CUdeviceptr)pinned));
    SHOW(owner == b);
    T(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, (CUdeviceptr)pinned));
    SHOW(ordinal);
    CUdeviceptr seen;
    OK(cuCtxSetCurrent(a));
    T(cuMemHostGetDevicePointer(&seen, pinned, 0));
    SHOW(seen == (CUdeviceptr)pinned);
    int allowed = -1;
    T(cuPointerGetAttribute(&allowed, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, p));
    SHOW(allowed & 255);
    CUstream of_b, of_a;
    CUevent event;
    OK(cuCtxSetCurrent(b));
    OK(cuStreamCreate(&of_b, 0));
    OK(cuEventCreate(&event, 0));
    OK(cuCtxSetCurrent(a));
    OK(cuStreamCreate(&of_a, 0));
    T(cuEventRecord(event, of_a));
    T(cuEventRecord(event, of_b));
    T(cuStreamWaitEvent(of_a, event, 0));
    T(cuMemcpyPeerAsync(p, a, q, b, 64, of_b));
    T(cuMemsetD8Async(q, 1, 64, of_a));
    CUcontext found;
    T(cuStreamGetCtx(of_b, &found));
    SHOW(found == b);
    T(cuStreamSynchronize(of_b));
    T(cuCtxSynchronize());
    T(cuMemFree(q));
    T(cuMemFree(q));
    CUdeviceptr base;
    size_t size;
    OK(cuCtxSetCurrent(b));
    T(cuMemGetAddressRange(&base, &size, p + 3));
    SHOW(size);
    T(cuMemFreeHost(pinned));
    T(cuDevicePrimaryCtxRelease(0));
    T(cuMemFree(p));
}

static const char* image =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .global .u32 word = 3;\n"
    ".visible .entry bump(.param .u64 to) {\n"
    ".reg .u64 %a; .reg .u32 %x;\n"
    "ld.param.u64 %a, [to]; ld.global.u32 %x, [word];\n"
    "atom.global.sys.add.u32 %x, [%a], %x; st.global.u32 [word], 4; ret; }\n";

static void modules() {
    OK(cuInit(0));
    CUcontext a, b;
    OK(cuDevicePrimaryCtxRetain(&a, 0));
    OK(cuDevicePrimaryCtxRetain(&b, 1));
    CUmodule of_a, of_b;
    CUfunction f, g;
    CUstream of_stream_a;
    OK(cuCtxSetCurrent(b));
    OK(cuModuleLoadData(&of_b, image));
    OK(cuModuleGetFunction(&g, of_b, "bump"));
    OK(cuCtxSetCurrent(a));
    OK(cuModuleLoadData(&of_a, image));
    OK(cuModuleGetFunction(&f, of_a, "bump"));
    OK(cuStreamCreate(&of_stream_a, 0));
    CUdeviceptr p, x, y;
    size_t bytes;
    OK(cuMemAllocManaged(&p, 64, CU_MEM_ATTACH_GLOBAL));
    OK(cuMemsetD32(p, 0, 16));
    OK(cuCtxSynchronize());
    T(cuModuleGetGlobal(&x, &bytes, of_a, "word"));
    T(cuModuleGetGlobal(&y, &bytes, of_b, "word"));
    SHOW(x != y);
    void* parameters[] = {&p};
    T(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, of_stream_a, parameters, nullptr));
    T(cuLaunchKernel(g, 1, 1, 1, 1, 1, 1, 0, of_stream_a, parameters, nullptr));
    T(cuLaunchKernel(g, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr));
    T(cuStreamSynchronize(of_stream_a));
    OK(cuCtxSetCurrent(b));
    T(cuLaunchKernel(g, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr));
    T(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr));
    T(cuCtxSynchronize());
    unsigned word = 0;
    OK(cuMemcpyDtoH(&word, x, 4));
    SHOW(word);
    OK(cuMemcpyDtoH(&word, y, 4));
    SHOW(word);
    OK(cuMemcpyDtoH(&word, p, 4));
    SHOW(word);
    CUDA_LAUNCH_PARAMS params[2] = {};
    params[0].function = f;
    params[0].gridDimX = params[0].gridDimY = params[0].gridDimZ = 1;
    params[0].blockDimX = params[0].blockDimY = params[0].blockDimZ = 1;
    params[0].hStream = of_stream_a;
    params[0].kernelParams = parameters;
    T(cuLaunchCooperativeKernelMultiDevice(params, 1, 0));
    params[1] = params[0];
    T(cuLaunchCooperativeKernelMultiDevice(params, 2, 0));
    params[1].function = g;
    T(cuLaunchCooperativeKernelMultiDevice(params, 2, 0));
    CUstream of_stream_b;
    OK(cuCtxSetCurrent(b));
    OK(cuStreamCreate(&of_stream_b, 0));
    params[1].hStream = of_stream_b;
    T(cuLaunchCooperativeKernelMultiDevice(params, 2, 0));
    T(cuLaunchCooperativeKernelMultiDevice(params, 2, 3));
    T(cuLaunchCooperativeKernelMultiDevice(params, 2, 4));
    params[1].blockDimX = 2;
    T(cuLaunchCooperativeKernelMultiDevice(params, 2, 0));
    params[1].blockDimX = 1;
    params[1].hStream = nullptr;
    T(cuLaunchCooperativeKernelMultiDevice(params, 2, 0));
    T(cuLaunchCooperativeKernelMultiDevice(params, 0, 0));
    params[0].gridDimX = params[1].gridDimX = 1000000;
    params[1].hStream = of_stream_b;
    T(cuLaunchCooperativeKernelMultiDevice(params, 2, 0));
    OK(cuStreamSynchronize(of_stream_a));
    OK(cuStreamSynchronize(of_stream_b));
    OK(cuMemcpyDtoH(&word, p, 4));
    SHOW(word);
}

int main(int count, char** words) {
    return run_cases(count, words, {{"peers", peers}, {"modules", modules}});
}
