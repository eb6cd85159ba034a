// Memory of the host without an address, of one process in another.
#include "../h200x2/devices.h"

static const size_t SIZE = 2 << 20;

static int* mapped(CUmemGenericAllocationHandle handle) {
    CUdeviceptr base;
    OK(cuMemAddressReserve(&base, SIZE, 0, 0, 0));
    OK(cuMemMap(base, SIZE, 0, handle, 0));
    CUmemAccessDesc access[2] = {};
    access[0].location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    access[1].location = {CU_MEM_LOCATION_TYPE_HOST_NUMA, 0};
    access[0].flags = access[1].flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    OK(cuMemSetAccess(base, SIZE, access, 2));
    return (int*)base;
}

static char** all_words;

static void first() {
    OK(cudaFree(0));
    CUmemAllocationProp prop = {};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location = {CU_MEM_LOCATION_TYPE_HOST_NUMA, 0};
    prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    CUmemGenericAllocationHandle handle;
    OK(cuMemCreate(&handle, SIZE, &prop, 0));
    int file;
    OK(cuMemExportToShareableHandle(&file, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    int* words = mapped(handle);
    words[0] = 40;
    words[1] = 50;
    char text[16];
    snprintf(text, sizeof text, "%d", dup(file));
    SHOW(again("-second", text));
    SHOW(words[0]);
    SHOW(words[1]);
    SHOW(words[2]);
}

static void second() {
    OK(cudaFree(0));
    CUmemGenericAllocationHandle handle;
    OK(cuMemImportFromShareableHandle(&handle, (void*)(intptr_t)atoi(all_words[2]), CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    CUmemAllocationProp found = {};
    T(cuMemGetAllocationPropertiesFromHandle(&found, handle));
    printf("location %d %d handles %d\n", found.location.type, found.location.id, found.requestedHandleTypes);
    int* words = mapped(handle);
    SHOW(words[0]);
    add_kernel<<<1, 2>>>(words, 1);
    T(cudaDeviceSynchronize());
    words[1]++;
    words[2] = 60;
}

int main(int count, char** words) {
    all_words = words;
    return run_cases(count, words, {{"first", first}, {"-second", second}});
}
