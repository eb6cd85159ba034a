// Managed memory, pools and virtual memory of two devices.
#include "devices.h"

static void managed() {
    const int count = 20000;
    int* data;
    OK(cudaMallocManaged(&data, count * 4));
    for (int device = 0; device < 2; device++) {
        OK(cudaSetDevice(device));
        int half = count / 2;
        fill_kernel<<<40, 256>>>(data + device * half, half, device * half);
    }
    for (int device = 0; device < 2; device++) {
        OK(cudaSetDevice(device));
        T(cudaDeviceSynchronize());
    }
    long long sum = 0;
    for (int i = 0; i < count; i++) sum += data[i];
    SHOW(sum);
    cudaMemLocation to = {};
    to.type = cudaMemLocationTypeDevice;
    to.id = 0;
    T(cudaMemPrefetchAsync(data, count * 4, to, 0, 0));
    to.id = 1;
    T(cudaMemAdvise(data, count * 4, cudaMemAdviseSetPreferredLocation, to));
    T(cudaMemAdvise(data, count * 4, cudaMemAdviseSetAccessedBy, to));
    int where = -9;
    T(cudaMemRangeGetAttribute(&where, 4, cudaMemRangeAttributeLastPrefetchLocation, data, count * 4));
    SHOW(where);
    T(cudaMemRangeGetAttribute(&where, 4, cudaMemRangeAttributePreferredLocation, data, count * 4));
    SHOW(where);
    int by[3] = {-9, -9, -9};
    T(cudaMemRangeGetAttribute(by, 12, cudaMemRangeAttributeAccessedBy, data, count * 4));
    printf("%d %d %d\n", by[0], by[1], by[2]);
    to.id = 2;
    T(cudaMemAdvise(data, count * 4, cudaMemAdviseSetPreferredLocation, to));
    cudaPointerAttributes a;
    OK(cudaPointerGetAttributes(&a, data));
    SHOW(a.device);
    // Counted by the devices in turn, and by both at once.
    data[0] = 0;
    for (int turn = 0; turn < 6; turn++) {
        OK(cudaSetDevice(turn % 2));
        add_kernel<<<2, 64>>>(data, 1);
        OK(cudaDeviceSynchronize());
    }
    SHOW(data[0]);
    T(cudaFree(data));
}

static void pools() {
    int *p, *q;
    cudaStream_t zero, one;
    cudaMemPool_t pool, other;
    OK(cudaSetDevice(1));
    OK(cudaStreamCreate(&one));
    OK(cudaDeviceGetDefaultMemPool(&other, 1));
    OK(cudaSetDevice(0));
    OK(cudaStreamCreate(&zero));
    OK(cudaDeviceGetDefaultMemPool(&pool, 0));
    SHOW(pool != other);
    cudaMemLocation at = {};
    at.type = cudaMemLocationTypeDevice;
    at.id = 1;
    cudaMemAccessFlags flags = (cudaMemAccessFlags)9;
    T(cudaMemPoolGetAccess(&flags, pool, &at));
    SHOW(flags);
    OK(cudaMallocAsync(&p, 4096, zero));
    OK(cudaMemsetAsync(p, 0, 4096, zero));
    OK(cudaStreamSynchronize(zero));
    cudaMemAccessDesc access = {};
    access.location = at;
    access.flags = cudaMemAccessFlagsProtReadWrite;
    T(cudaMemPoolSetAccess(pool, &access, 1));
    T(cudaMemPoolGetAccess(&flags, pool, &at));
    SHOW(flags);
    OK(cudaSetDevice(1));
    add_kernel<<<1, 32, 0, one>>>(p, 1);
    T(cudaStreamSynchronize(one));
    OK(cudaMallocFromPoolAsync(&q, 4096, pool, zero));
    OK(cudaMemsetAsync(q, 0, 4096, zero));
    OK(cudaStreamSynchronize(zero));
    add_kernel<<<1, 32, 0, one>>>(q, 2);
    T(cudaStreamSynchronize(one));
    SHOW(sum_of(p, 1));
    SHOW(sum_of(q, 1));
    cudaPointerAttributes a;
    OK(cudaPointerGetAttributes(&a, q));
    SHOW(a.device);
    T(cudaFreeAsync(q, one));
    // A pool of the other device, by a stream of this one.
    T(cudaMallocFromPoolAsync(&q, 4096, other, zero));
    OK(cudaStreamSynchronize(zero));
    OK(cudaPointerGetAttributes(&a, q));
    SHOW(a.device);
    T(cudaFreeAsync(q, zero));
    OK(cudaStreamSynchronize(zero));
    access.flags = cudaMemAccessFlagsProtRead;
    T(cudaMemPoolSetAccess(pool, &access, 1));
    access.location.id = 0;
    access.flags = cudaMemAccessFlagsProtNone;
    T(cudaMemPoolSetAccess(pool, &access, 1));
    access.location.id = 7;
    T(cudaMemPoolSetAccess(pool, &access, 1));
    at.id = 5;
    T(cudaMemPoolGetAccess(&flags, pool, &at));
    access.location.id = 1;
    access.flags = cudaMemAccessFlagsProtNone;
    T(cudaMemPoolSetAccess(pool, &access, 1));
    at.id = 1;
    T(cudaMemPoolGetAccess(&flags, pool, &at));
    SHOW(flags);
    T(cudaDeviceSetMemPool(1, pool));
    add_kernel<<<1, 32, 0, one>>>(p, 1);
    T(cudaStreamSynchronize(one));
}

static void pools_by_peer_access() {
    // Peer access of a device does not reach into pools.
    int* p;
    cudaStream_t one;
    OK(cudaMallocAsync(&p, 4096, 0));
    OK(cudaMemsetAsync(p, 0, 4096, 0));
    OK(cudaDeviceSynchronize());
    OK(cudaSetDevice(1));
    OK(cudaStreamCreate(&one));
    OK(cudaDeviceEnablePeerAccess(0, 0));
    T(cudaMemcpyAsync(p, p + 4, 4, cudaMemcpyDeviceToDevice, one));
    T(cudaStreamSynchronize(one));
    add_kernel<<<1, 32, 0, one>>>(p, 1);
    T(cudaStreamSynchronize(one));
}

static CUmemAllocationProp of_device(int device, bool exported = false) {
    CUmemAllocationProp prop = {};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.location.id = device;
    if (exported) prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    return prop;
}

static void mapped() {
    OK(cudaSetDevice(1));
    OK(cudaFree(0));
    OK(cudaSetDevice(0));
    OK(cudaFree(0));
    CUmemAllocationProp prop = of_device(1, true);
    size_t size = 0;
    T(cuMemGetAllocationGranularity(&size, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    SHOW(size);
    CUmemGenericAllocationHandle first, second, imported;
    T(cuMemCreate(&first, size, &prop, 0));
    CUmemAllocationProp here = of_device(0);
    T(cuMemCreate(&second, size, &here, 0));
    CUmemAllocationProp nowhere = of_device(5);
    T(cuMemCreate(&imported, size, &nowhere, 0));
    CUdeviceptr base;
    T(cuMemAddressReserve(&base, 3 * size, 0, 0, 0));
    T(cuMemMap(base, size, 0, first, 0));
    T(cuMemMap(base + size, size, 0, second, 0));
    CUmemAccessDesc access[2] = {};
    for (int device = 0; device < 2; device++) {
        access[device].location = of_device(device).location;
        access[device].flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    }
    T(cuMemSetAccess(base, 2 * size, access, 2));
    CUmemLocation place = of_device(0).location;
    unsigned long long flags = 9;
    T(cuMemGetAccess(&flags, &place, base));
    SHOW(flags);
    int* data = (int*)base;
    int count = 2 * size / 4;
    fill_kernel<<<count / 256, 256>>>(data, count, 0);
    T(cudaDeviceSynchronize());
    OK(cudaSetDevice(1));
    add_kernel<<<10, 100>>>(data, 1);
    add_kernel<<<10, 100>>>(data + count / 2, 1);
    T(cudaDeviceSynchronize());
    SHOW(sum_of(data, count));
    cudaPointerAttributes a;
    T(cudaPointerGetAttributes(&a, data));
    SHOW(a.device);
    T(cudaPointerGetAttributes(&a, data + count / 2));
    SHOW(a.device);
    int fd = -1;
    T(cuMemExportToShareableHandle(&fd, first, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    T(cuMemExportToShareableHandle(&fd, second, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    T(cuMemExportToShareableHandle(&fd, first, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    T(cuMemImportFromShareableHandle(&imported, (void*)(intptr_t)fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    CUmemAllocationProp found = {};
    T(cuMemGetAllocationPropertiesFromHandle(&found, imported));
    SHOW(found.location.id);
    SHOW(found.requestedHandleTypes);
    T(cuMemMap(base + 2 * size, size, 0, imported, 0));
    T(cuMemSetAccess(base + 2 * size, size, access + 1, 1));
    place.id = 0;
    T(cuMemGetAccess(&flags, &place, base + 2 * size));
    SHOW(flags);
    // The same memory at two addresses.
    SHOW(sum_of(data + count, 3));
    add_kernel<<<1, 10>>>(data + count + 1, 1);
    T(cudaDeviceSynchronize());
    SHOW(sum_of(data + 1, 1));
    access[0].flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    T(cuMemSetAccess(base, size, access, 1));
    T(cuMemGetAccess(&flags, &place, base));
    SHOW(flags);
    add_kernel<<<1, 10>>>(data, 1);
    T(cudaDeviceSynchronize());
    OK(cudaSetDevice(0));
    add_kernel<<<1, 10>>>(data + count / 2, 1);
    T(cudaDeviceSynchronize());
    add_kernel<<<1, 10>>>(data, 1);
    T(cudaDeviceSynchronize());
}

static void unmapped() {
    CUmemAllocationProp prop = of_device(0);
    OK(cudaFree(0));
    size_t size = 2 << 20;
    CUmemGenericAllocationHandle handle;
    OK(cuMemCreate(&handle, 2 * size, &prop, 0));
    CUdeviceptr base;
    OK(cuMemAddressReserve(&base, 4 * size, 0, 0, 0));
    T(cuMemMap(base, size, size, handle, 0));
    T(cuMemMap(base, size, 0, handle, 0));
    T(cuMemMap(base, 2 * size, 0, handle, 0));
    CUmemAccessDesc access = {};
    access.location = prop.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
    T(cuMemSetAccess(base, 2 * size, &access, 1));
    unsigned long long flags = 9;
    T(cuMemGetAccess(&flags, &prop.location, base));
    SHOW(flags);
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    T(cuMemSetAccess(base, size, &access, 1));
    T(cuMemSetAccess(base, 2 * size, &access, 1));
    access.location.id = 3;
    T(cuMemSetAccess(base, 2 * size, &access, 1));
    T(cuMemUnmap(base, size));
    T(cuMemUnmap(base, 2 * size));
    T(cuMemRelease(handle));
    T(cuMemAddressFree(base, 4 * size));
}

int main(int count, char** words) {
    return run_cases(count, words, {{"managed", managed},
                                    {"pools", pools},
                                    {"pools-by-peer-access", pools_by_peer_access},
                                    {"mapped", mapped},
                                    {"unmapped", unmapped}});
}
