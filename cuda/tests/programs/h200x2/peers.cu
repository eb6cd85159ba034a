// Peer access: what may be enabled, what kernels and copies reach then, and what pointers tell.
#include "devices.h"

__device__ int variable = 5;
__managed__ int managed_variable = 7;

static void attributes_of(const char* name, const void* pointer) {
    cudaPointerAttributes a;
    memset(&a, 0xff, sizeof a);
    int code = cudaPointerGetAttributes(&a, pointer);
    printf("%s: %d type %d device %d same %d %d\n", name, code, code ? 0 : a.type, code ? 0 : a.device,
           code ? 0 : a.devicePointer == pointer, code ? 0 : a.hostPointer == pointer);
}

static void enabling() {
    int can = -1;
    T(cudaDeviceCanAccessPeer(&can, 0, 1));
    SHOW(can);
    T(cudaDeviceCanAccessPeer(&can, 1, 1));
    SHOW(can);
    T(cudaDeviceCanAccessPeer(&can, 0, 2));
    T(cudaDeviceCanAccessPeer(&can, -1, 0));
    for (int number = 0; number < 7; number++) {
        int value = -7;
        int code = cudaDeviceGetP2PAttribute(&value, (cudaDeviceP2PAttr)number, 0, 1);
        printf("attribute %d: %d %d\n", number, code, number == 1 ? 0 : value);
    }
    int value = 0;
    T(cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrAccessSupported, 0, 0));
    T(cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrAccessSupported, 0, 3));
    T(cudaDeviceGetP2PAttribute(nullptr, cudaDevP2PAttrAccessSupported, 0, 1));
    T(cudaSetDevice(0));
    T(cudaDeviceDisablePeerAccess(1));
    T(cudaDeviceEnablePeerAccess(1, 1));
    T(cudaDeviceEnablePeerAccess(0, 0));
    T(cudaDeviceEnablePeerAccess(2, 0));
    T(cudaDeviceEnablePeerAccess(1, 0));
    T(cudaDeviceEnablePeerAccess(1, 0));
    T(cudaDeviceDisablePeerAccess(1));
    T(cudaDeviceDisablePeerAccess(1));
    T(cudaDeviceDisablePeerAccess(0));
    T(cudaDeviceDisablePeerAccess(4));
    T(cudaDeviceEnablePeerAccess(1, 0));
    T(cudaSetDevice(1));
    T(cudaDeviceReset());
    T(cudaSetDevice(0));
    T(cudaDeviceDisablePeerAccess(1));
    T(cudaDeviceEnablePeerAccess(1, 0));
    T(cudaDeviceReset());
    T(cudaDeviceDisablePeerAccess(1));
    T(cudaDeviceEnablePeerAccess(1, 0));
    T(cudaSetDevice(2));
    T(cudaSetDevice(-1));
    int device = -1;
    T(cudaGetDevice(&device));
    SHOW(device);
}

static void kernels() {
    const int count = 10000;
    int *here, *there;
    OK(cudaSetDevice(1));
    OK(cudaMalloc(&there, count * 4));
    OK(cudaSetDevice(0));
    OK(cudaMalloc(&here, count * 4));
    OK(cudaDeviceEnablePeerAccess(1, 0));
    int* late;
    OK(cudaSetDevice(1));
    OK(cudaMalloc(&late, count * 4));
    OK(cudaSetDevice(0));
    fill_kernel<<<40, 256>>>(there, count, 1);
    fill_kernel<<<40, 256>>>(late, count, 2);
    T(cudaDeviceSynchronize());
    OK(cudaSetDevice(1));
    SHOW(sum_of(there, count));
    SHOW(sum_of(late, count));
    // Only one direction was enabled: device 1 reaches its own.
    add_kernel<<<1, 32>>>(there, 1);
    T(cudaDeviceSynchronize());
    SHOW(sum_of(there, 1));
    OK(cudaDeviceEnablePeerAccess(0, 0));
    unsigned long long* total;
    OK(cudaMallocManaged(&total, 8));
    *total = 0;
    OK(cudaSetDevice(0));
    fill_kernel<<<40, 256>>>(here, count, 3);
    T(cudaDeviceSynchronize());
    OK(cudaSetDevice(1));
    sum_kernel<<<1, 128>>>(here, count, total);
    T(cudaDeviceSynchronize());
    SHOW(*total);
    attributes_of("here", here);
    attributes_of("there", there + 5);
    attributes_of("managed", total);
    managed_variable = 1;
    add_kernel<<<1, 5>>>(&managed_variable, 1);
    T(cudaDeviceSynchronize());
    OK(cudaSetDevice(0));
    add_kernel<<<1, 5>>>(&managed_variable, 10);
    T(cudaDeviceSynchronize());
    SHOW(managed_variable);
    // Each device's free takes the other's memory.
    T(cudaFree(there));
    T(cudaFree(there));
    attributes_of("freed", there);
    OK(cudaSetDevice(1));
    T(cudaFree(here));
    int* pinned;
    OK(cudaMallocHost(&pinned, 64));
    attributes_of("pinned", pinned);
    int own = 0;
    attributes_of("stack", &own);
    OK(cudaSetDevice(0));
    add_kernel<<<1, 5>>>(pinned, 0);
    T(cudaDeviceSynchronize());
    T(cudaFreeHost(pinned));
}

static void variables(int early) {
    int *symbol, *own;
    OK(cudaSetDevice(1));
    if (early) OK(cudaGetSymbolAddress((void**)&symbol, variable));
    OK(cudaSetDevice(0));
    OK(cudaDeviceEnablePeerAccess(1, 0));
    OK(cudaSetDevice(1));
    OK(cudaGetSymbolAddress((void**)&symbol, variable));
    OK(cudaSetDevice(0));
    OK(cudaGetSymbolAddress((void**)&own, variable));
    SHOW(own != symbol);
    int value = 9;
    OK(cudaMemcpyToSymbol(variable, &value, 4));
    attributes_of("symbol", symbol);
    add_kernel<<<1, 1>>>(own, 1);
    T(cudaDeviceSynchronize());
    OK(cudaMemcpyFromSymbol(&value, variable, 4));
    SHOW(value);
    OK(cudaSetDevice(1));
    OK(cudaMemcpyFromSymbol(&value, variable, 4));
    SHOW(value);
    OK(cudaSetDevice(0));
    add_kernel<<<1, 1>>>(symbol, 3);
    T(cudaDeviceSynchronize());
}

static void filling() {
    int *there, *pooled;
    OK(cudaSetDevice(1));
    OK(cudaMalloc(&there, 4096));
    OK(cudaMallocAsync(&pooled, 4096, 0));
    OK(cudaMemsetAsync(pooled, 1, 4096, 0));
    OK(cudaDeviceSynchronize());
    OK(cudaSetDevice(0));
    int* here;
    OK(cudaMalloc(&here, 4096));
    T(cudaMemset(there, 0, 64));
    T(cudaMemset2D(there, 64, 0, 32, 2));
    OK(cudaDeviceEnablePeerAccess(1, 0));
    T(cudaMemset(there, 1, 64));
    T(cudaMemset2D(there, 64, 1, 32, 2));
    T(cudaMemset(pooled, 1, 64));
    SHOW(sum_of(there, 2));
    T(cudaMemcpyPeer(here, 0, pooled, 1, 64));
    T(cudaMemcpy(here, pooled, 64, cudaMemcpyDefault));
    T(cudaMemcpy(here, pooled, 64, cudaMemcpyDeviceToDevice));
    int host[16];
    T(cudaMemcpy(host, pooled, 64, cudaMemcpyDefault));
    T(cudaMemcpy(pooled, host, 64, cudaMemcpyDefault));
    T(cudaMemcpyPeerAsync(here, 0, pooled, 1, 64, 0));
    T(cudaDeviceSynchronize());
    T(cudaFree(pooled));
}

static void fault(bool disabled) {
    int* there;
    OK(cudaSetDevice(1));
    OK(cudaMalloc(&there, 4096));
    OK(cudaMemset(there, 0, 4096));
    OK(cudaDeviceSynchronize());
    OK(cudaSetDevice(0));
    if (disabled) {
        OK(cudaDeviceEnablePeerAccess(1, 0));
        add_kernel<<<1, 1>>>(there, 1);
        T(cudaDeviceSynchronize());
        OK(cudaDeviceDisablePeerAccess(1));
    }
    add_kernel<<<1, 1>>>(there, 1);
    T(cudaDeviceSynchronize());
    OK(cudaSetDevice(1));
    T(cudaDeviceSynchronize());
    int value = -1;
    T(cudaMemcpy(&value, there, 4, cudaMemcpyDefault));
    T(cudaFree(there));
}

static void copies() {
    const int count = 5000;
    int *here, *there;
    OK(cudaMalloc(&here, count * 4));
    OK(cudaSetDevice(1));
    OK(cudaMalloc(&there, count * 4));
    OK(cudaSetDevice(0));
    fill_kernel<<<40, 256>>>(here, count, 1);
    T(cudaMemcpyPeer(there, 1, here, 0, count * 4));
    SHOW(sum_of(there, count));
    T(cudaMemcpyPeer(there, 0, here, 1, count * 4));
    T(cudaMemcpyPeer(there, 1, here, 2, 4));
    T(cudaMemcpyPeer(there, 1, here, 1, 4));
    T(cudaMemcpyPeer(here, 0, here + 10, 0, 4));
    T(cudaMemcpyPeer(there, 1, here, 0, count * 4 + 4));
    T(cudaMemcpyPeer(there, 1, here, 0, 0));
    std::vector<int> host(count, 9);
    T(cudaMemcpyPeer(there, 1, host.data(), 0, count * 4));
    SHOW(sum_of(there, count));
    T(cudaMemcpy(there, here, count * 4, cudaMemcpyDeviceToDevice));
    SHOW(sum_of(there, count));
    T(cudaMemset(there, 1, 8));
    SHOW(sum_of(there, 2));
    OK(cudaSetDevice(1));
    T(cudaMemset(here, 0, count * 4));
    T(cudaMemcpy(there, here, count * 4, cudaMemcpyDefault));
    SHOW(sum_of(there, count));
    cudaStream_t zero, one;
    OK(cudaStreamCreate(&one));
    OK(cudaSetDevice(0));
    OK(cudaStreamCreate(&zero));
    fill_kernel<<<40, 256, 0, zero>>>(here, count, 7);
    T(cudaMemcpyPeerAsync(there, 1, here, 0, count * 4, zero));
    T(cudaStreamSynchronize(zero));
    SHOW(sum_of(there, count));
    T(cudaMemsetAsync(here, 0, 4, one));
    T(cudaMemsetAsync(there, 0, 4, zero));
    T(cudaMemcpyAsync(host.data(), there, 40, cudaMemcpyDeviceToHost, zero));
    T(cudaMemcpyPeerAsync(there, 1, here, 0, 40, one));
    T(cudaStreamSynchronize(zero));
    T(cudaStreamSynchronize(one));
    // Volumes: four rows of eight in two slices.
    cudaPitchedPtr from, to;
    OK(cudaMalloc3D(&from, make_cudaExtent(32, 4, 2)));
    OK(cudaSetDevice(1));
    OK(cudaMalloc3D(&to, make_cudaExtent(32, 4, 2)));
    OK(cudaMemset3D(to, 0, make_cudaExtent(32, 4, 2)));
    // The other device's stream does not wait for this one's.
    OK(cudaDeviceSynchronize());
    OK(cudaSetDevice(0));
    OK(cudaMemset3D(from, 3, make_cudaExtent(32, 4, 2)));
    cudaMemcpy3DPeerParms p = {};
    p.srcPtr = from;
    p.srcDevice = 0;
    p.dstPtr = to;
    p.dstDevice = 1;
    p.dstPos = make_cudaPos(4, 1, 0);
    p.extent = make_cudaExtent(16, 3, 2);
    T(cudaMemcpy3DPeer(&p));
    std::vector<unsigned char> bytes(32 * 4 * 2);
    OK(cudaMemcpy2D(bytes.data(), 32, to.ptr, to.pitch, 32, 8, cudaMemcpyDeviceToHost));
    int sum = 0;
    for (unsigned char byte : bytes) sum += byte;
    SHOW(sum);
    p.extent = make_cudaExtent(32, 4, 1);
    p.dstPos = make_cudaPos(0, 0, 0);
    T(cudaMemcpy3DPeerAsync(&p, zero));
    p.srcDevice = 5;
    T(cudaMemcpy3DPeerAsync(&p, zero));
    T(cudaStreamSynchronize(zero));
    // Between arrays of both devices.
    cudaArray_t a, b;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<int>();
    OK(cudaMallocArray(&a, &format, 16, 4));
    OK(cudaSetDevice(1));
    OK(cudaMallocArray(&b, &format, 16, 4));
    OK(cudaSetDevice(0));
    OK(cudaMemcpy2DToArray(a, 0, 0, here, 64, 64, 4, cudaMemcpyDeviceToDevice));
    cudaMemcpy3DPeerParms q = {};
    q.srcArray = a;
    q.srcDevice = 0;
    q.dstArray = b;
    q.dstDevice = 1;
    q.extent = make_cudaExtent(16, 4, 1);
    T(cudaMemcpy3DPeer(&q));
    std::vector<int> texels(64);
    OK(cudaSetDevice(1));
    T(cudaMemcpy2DFromArray(texels.data(), 64, b, 0, 0, 64, 4, cudaMemcpyDeviceToHost));
    sum = 0;
    for (int texel : texels) sum += texel;
    SHOW(sum);
}

static void identities() {
    cudaDeviceProp zero, one;
    OK(cudaGetDeviceProperties(&zero, 0));
    OK(cudaGetDeviceProperties(&one, 1));
    SHOW(memcmp(&zero.uuid, &one.uuid, 16) != 0);
    SHOW(zero.pciBusID != one.pciBusID || zero.pciDeviceID != one.pciDeviceID || zero.pciDomainID != one.pciDomainID);
    SHOW(one.isMultiGpuBoard);
    SHOW(one.multiGpuBoardGroupID - zero.multiGpuBoardGroupID);
    SHOW(zero.cooperativeLaunch);
    SHOW(zero.ipcEventSupported);
    SHOW(zero.memoryPoolSupportedHandleTypes & 1);
    int value = -1;
    for (int number : {96, 103, 125}) {
        CUresult code = cuDeviceGetAttribute(&value, (CUdevice_attribute)number, 0);
        printf("attribute %d: %d %d\n", number, code, value);
    }
    char id[32];
    OK(cudaDeviceGetPCIBusId(id, 32, 1));
    int device = -1;
    T(cudaDeviceGetByPCIBusId(&device, id));
    SHOW(device);
}

int main(int count, char** words) {
    return run_cases(count, words, {{"identities", identities},
                                    {"enabling", enabling},
                                    {"kernels", kernels},
                                    {"variables", [] { variables(0); }},
                                    {"variables-early", [] { variables(1); }},
                                    {"filling", filling},
                                    {"without", [] { fault(false); }},
                                    {"disabled", [] { fault(true); }},
                                    {"copies", copies}});
}
