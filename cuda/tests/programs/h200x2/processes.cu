// Memory, events and pools of one process in another.
#include <sys/socket.h>
#include <sys/un.h>

#include "devices.h"

template <class V>
static std::string hex(const V& value) {
    std::string text;
    char digits[3];
    for (size_t i = 0; i < sizeof value; i++) {
        snprintf(digits, 3, "%02x", ((const unsigned char*)&value)[i]);
        text += digits;
    }
    return text;
}
template <class V>
static V unhex(const char* text) {
    V value;
    for (size_t i = 0; i < sizeof value; i++) {
        unsigned byte = 0;
        sscanf(text + 2 * i, "%2x", &byte);
        ((unsigned char*)&value)[i] = byte;
    }
    return value;
}
static char** all_words;

static void memory() {
    const int count = 3000;
    int* data;
    OK(cudaMalloc(&data, count * 4));
    fill_kernel<<<40, 256>>>(data, count, 0);
    OK(cudaDeviceSynchronize());
    cudaIpcMemHandle_t handle, same;
    T(cudaIpcGetMemHandle(&handle, data));
    T(cudaIpcGetMemHandle(&same, data + 100));
    SHOW(memcmp(&handle, &same, sizeof handle) == 0);
    void* mine = nullptr;
    T(cudaIpcOpenMemHandle(&mine, handle, cudaIpcMemLazyEnablePeerAccess));
    T(cudaIpcOpenMemHandle(&mine, handle, 0));
    T(cudaIpcCloseMemHandle(data));
    SHOW(again("-memory", hex(handle)));
    SHOW(again("-memory-there", hex(handle)));
    SHOW(sum_of(data, 3));
    int *managed, *pinned, *pooled;
    OK(cudaMallocManaged(&managed, 64));
    T(cudaIpcGetMemHandle(&handle, managed));
    OK(cudaMallocHost(&pinned, 64));
    T(cudaIpcGetMemHandle(&handle, pinned));
    OK(cudaMallocAsync(&pooled, 64, 0));
    T(cudaIpcGetMemHandle(&handle, pooled));
    T(cudaIpcGetMemHandle(&handle, nullptr));
    T(cudaIpcGetMemHandle(&handle, &handle));
    T(cudaFree(data));
    T(cudaIpcGetMemHandle(&handle, data));
}

static void opened(int device) {
    auto handle = unhex<cudaIpcMemHandle_t>(all_words[2]);
    OK(cudaSetDevice(device));
    int *data = nullptr, *twice = nullptr;
    T(cudaIpcOpenMemHandle((void**)&data, handle, 0));
    T(cudaIpcOpenMemHandle((void**)&data, handle, cudaIpcMemLazyEnablePeerAccess));
    T(cudaIpcOpenMemHandle((void**)&twice, handle, cudaIpcMemLazyEnablePeerAccess));
    SHOW(data == twice);
    SHOW(sum_of(data, 3000));
    add_kernel<<<2, 50>>>(data, 1);
    T(cudaDeviceSynchronize());
    SHOW(sum_of(data, 1));
    cudaPointerAttributes a;
    T(cudaPointerGetAttributes(&a, data));
    printf("type %d device %d\n", a.type, a.device);
    CUdeviceptr base;
    size_t size;
    T(cuMemGetAddressRange(&base, &size, (CUdeviceptr)data + 8));
    printf("%d %zu\n", base == (CUdeviceptr)data, size);
    cudaIpcMemHandle_t more;
    T(cudaIpcGetMemHandle(&more, data));
    T(cudaFree(data));
    T(cudaIpcCloseMemHandle(data + 1));
    T(cudaIpcCloseMemHandle(data));
    T(cudaIpcCloseMemHandle(data));
    T(cudaIpcCloseMemHandle(data));
    T(cudaPointerGetAttributes(&a, data));
    SHOW(a.type);
    memset(&handle, 0, sizeof handle);
    T(cudaIpcOpenMemHandle((void**)&data, handle, cudaIpcMemLazyEnablePeerAccess));
}

static void events() {
    cudaEvent_t event, plain, wrong;
    cudaIpcEventHandle_t handle;
    T(cudaEventCreateWithFlags(&wrong, cudaEventInterprocess));
    T(cudaEventCreateWithFlags(&event, cudaEventInterprocess | cudaEventDisableTiming));
    OK(cudaEventCreate(&plain));
    T(cudaIpcGetEventHandle(&handle, plain));
    T(cudaIpcGetEventHandle(&handle, event));
    int* data;
    OK(cudaMalloc(&data, 4096));
    OK(cudaMemset(data, 0, 4096));
    cudaIpcMemHandle_t memory;
    OK(cudaIpcGetMemHandle(&memory, data));
    fill_kernel<<<4, 256>>>(data, 1024, 1);
    T(cudaEventRecord(event));
    SHOW(again("-events", hex(handle) + hex(memory)));
    T(cudaEventSynchronize(event));
    SHOW(sum_of(data, 1));
    cudaEvent_t own;
    T(cudaIpcOpenEventHandle(&own, handle));
    T(cudaEventDestroy(event));
}

static void event_opened() {
    auto handle = unhex<cudaIpcEventHandle_t>(all_words[2]);
    auto memory = unhex<cudaIpcMemHandle_t>(all_words[2] + 2 * sizeof handle);
    cudaEvent_t event;
    cudaStream_t stream;
    int* data;
    OK(cudaStreamCreate(&stream));
    T(cudaIpcOpenEventHandle(&event, handle));
    OK(cudaIpcOpenMemHandle((void**)&data, memory, cudaIpcMemLazyEnablePeerAccess));
    T(cudaStreamWaitEvent(stream, event, 0));
    T(cudaEventSynchronize(event));
    T(cudaEventQuery(event));
    OK(cudaMemsetAsync(data, 1, 4, stream));
    T(cudaEventRecord(event, stream));
    T(cudaStreamSynchronize(stream));
    float ms;
    T(cudaEventElapsedTime(&ms, event, event));
    cudaIpcEventHandle_t more;
    T(cudaIpcGetEventHandle(&more, event));
    T(cudaEventDestroy(event));
    memset(&handle, 0, sizeof handle);
    T(cudaIpcOpenEventHandle(&event, handle));
}

// Descriptors go to the child by number: it inherits them.
static void pools() {
    cudaMemPoolProps props = {};
    props.allocType = cudaMemAllocationTypePinned;
    props.handleTypes = cudaMemHandleTypePosixFileDescriptor;
    props.location.type = cudaMemLocationTypeDevice;
    props.location.id = 0;
    cudaMemPool_t pool, own;
    T(cudaMemPoolCreate(&pool, &props));
    OK(cudaDeviceGetDefaultMemPool(&own, 0));
    int fd = -1;
    T(cudaMemPoolExportToShareableHandle(&fd, own, cudaMemHandleTypePosixFileDescriptor, 0));
    T(cudaMemPoolExportToShareableHandle(&fd, pool, cudaMemHandleTypePosixFileDescriptor, 0));
    int* data;
    OK(cudaMallocFromPoolAsync(&data, 4096, pool, 0));
    fill_kernel<<<4, 256>>>(data, 1024, 1);
    OK(cudaDeviceSynchronize());
    cudaMemPoolPtrExportData share;
    T(cudaMemPoolExportPointer(&share, data));
    int* other;
    OK(cudaMalloc(&other, 64));
    cudaMemPoolPtrExportData none;
    T(cudaMemPoolExportPointer(&none, other));
    T(cudaMemPoolExportPointer(&none, data + 4));
    // Without the flag that ends it at exec.
    int kept = dup(fd);
    SHOW(again("-pools", hex(share) + hex(kept)));
    SHOW(sum_of(data, 1));
    T(cudaFreeAsync(data, 0));
    OK(cudaDeviceSynchronize());
}

static void pool_opened() {
    auto share = unhex<cudaMemPoolPtrExportData>(all_words[2]);
    int fd = unhex<int>(all_words[2] + 2 * sizeof share);
    cudaMemPool_t pool;
    T(cudaMemPoolImportFromShareableHandle(&pool, (void*)(intptr_t)fd, cudaMemHandleTypePosixFileDescriptor, 0));
    int *data, *more;
    T(cudaMemPoolImportPointer((void**)&data, pool, &share));
    SHOW(sum_of(data, 1024));
    add_kernel<<<1, 10>>>(data, 1);
    T(cudaDeviceSynchronize());
    T(cudaMallocFromPoolAsync(&more, 64, pool, 0));
    cudaPointerAttributes a;
    T(cudaPointerGetAttributes(&a, data));
    printf("type %d device %d\n", a.type, a.device);
    cudaMemAccessFlags flags;
    cudaMemLocation at = {};
    at.type = cudaMemLocationTypeDevice;
    at.id = 1;
    T(cudaMemPoolGetAccess(&flags, pool, &at));
    SHOW(flags);
    T(cudaFreeAsync(data, 0));
    T(cudaDeviceSynchronize());
    T(cudaMemPoolDestroy(pool));
}

static void physical() {
    OK(cudaFree(0));
    CUmemAllocationProp prop = {};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.location.id = 1;
    prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    CUmemGenericAllocationHandle handle;
    size_t size = 2 << 20;
    OK(cuMemCreate(&handle, size, &prop, 0));
    int fd;
    OK(cuMemExportToShareableHandle(&fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    CUdeviceptr base;
    OK(cuMemAddressReserve(&base, size, 0, 0, 0));
    OK(cuMemMap(base, size, 0, handle, 0));
    CUmemAccessDesc access = {};
    access.location = prop.location;
    access.location.id = 0;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    OK(cuMemSetAccess(base, size, &access, 1));
    fill_kernel<<<4, 256>>>((int*)base, 1024, 5);
    OK(cudaDeviceSynchronize());
    SHOW(again("-physical", hex(dup(fd))));
    SHOW(sum_of((int*)base, 2));
}

static void physical_opened() {
    int fd = unhex<int>(all_words[2]);
    OK(cudaSetDevice(1));
    OK(cudaFree(0));
    CUmemGenericAllocationHandle handle;
    T(cuMemImportFromShareableHandle(&handle, (void*)(intptr_t)fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    CUmemAllocationProp found = {};
    T(cuMemGetAllocationPropertiesFromHandle(&found, handle));
    printf("type %d device %d handles %d\n", found.type, found.location.id, found.requestedHandleTypes);
    CUdeviceptr base;
    size_t size = 2 << 20;
    OK(cuMemAddressReserve(&base, size, 0, 0, 0));
    T(cuMemMap(base, size, 0, handle, 0));
    CUmemAccessDesc access = {};
    access.location = found.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    T(cuMemSetAccess(base, size, &access, 1));
    SHOW(sum_of((int*)base, 1024));
    add_kernel<<<1, 100>>>((int*)base, 1);
    T(cudaDeviceSynchronize());
}

int main(int count, char** words) {
    all_words = words;
    return run_cases(count, words, {{"memory", memory},
                                    {"-memory", [] { opened(0); }},
                                    {"-memory-there", [] { opened(1); }},
                                    {"events", events},
                                    {"-events", event_opened},
                                    {"pools", pools},
                                    {"-pools", pool_opened},
                                    {"physical", physical},
                                    {"-physical", physical_opened}});
}
