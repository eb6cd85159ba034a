// A multicast object of two devices, each of which another process has.
#include "../h200x2/devices.h"

static const size_t SIZE = 2 << 20;

// Adds to all memory behind an element, and keeps the sum of another.
__global__ void meet(unsigned* object, unsigned* own, unsigned by) {
    asm volatile("multimem.red.relaxed.sys.global.add.u32 [%0], %1;" ::"l"(object), "r"(by) : "memory");
    asm volatile("multimem.ld_reduce.relaxed.sys.global.add.u32 %0, [%1];" : "=r"(own[1]) : "l"(object + 2) : "memory");
}

static CUdeviceptr mapped(CUmemGenericAllocationHandle handle, int device) {
    CUdeviceptr base;
    OK(cuMemAddressReserve(&base, SIZE, 0, 0, 0));
    OK(cuMemMap(base, SIZE, 0, handle, 0));
    CUmemAccessDesc access = {};
    access.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    OK(cuMemSetAccess(base, SIZE, &access, 1));
    return base;
}

static unsigned* memory_of(CUmemGenericAllocationHandle object, int device, unsigned first, unsigned third) {
    CUmemAllocationProp prop = {};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
    CUmemGenericAllocationHandle handle;
    OK(cuMemCreate(&handle, SIZE, &prop, 0));
    auto memory = (unsigned*)mapped(handle, device);
    unsigned words[] = {first, 0, third};
    OK(cudaMemcpy(memory, words, sizeof words, cudaMemcpyHostToDevice));
    OK(cuMulticastBindMem(object, 0, handle, 0, SIZE, 0));
    return memory;
}

static void show(const char* who, const unsigned* memory) {
    unsigned words[3];
    OK(cudaMemcpy(words, memory, sizeof words, cudaMemcpyDeviceToHost));
    printf("%s: %u %u %u\n", who, words[0], words[1], words[2]);
    fflush(stdout);
}

static char token;
#define TELL(pipe) OK(write((pipe), "x", 1) != 1)
#define WAIT(pipe) OK(read((pipe), &token, 1) != 1)

static void first() {
    OK(cudaFree(0));
    CUmulticastObjectProp prop = {};
    prop.numDevices = 2;
    prop.size = SIZE;
    CUmemGenericAllocationHandle object, hidden;
    OK(cuMulticastCreate(&hidden, &prop));
    int file;
    T(cuMemExportToShareableHandle(&file, hidden, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    prop.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    OK(cuMulticastCreate(&object, &prop));
    OK(cuMulticastAddDevice(object, 0));
    OK(cuMemExportToShareableHandle(&file, object, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    int to[2], from[2];
    OK(pipe(to));
    OK(pipe(from));
    char words[64];
    snprintf(words, sizeof words, "%d %d %d", dup(file), to[0], from[1]);
    const char* arguments[] = {"/proc/self/exe", "-second", words, nullptr};
    pid_t child = 0;
    OK(posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, const_cast<char**>(arguments), environ));
    WAIT(from[0]);
    T(cuMulticastAddDevice(object, 1));
    unsigned* own = memory_of(object, 0, 100, 7);
    auto view = (unsigned*)mapped(object, 0);
    TELL(to[1]);
    WAIT(from[0]);
    meet<<<1, 1>>>(view, own, 1);
    T(cudaDeviceSynchronize());
    TELL(to[1]);
    WAIT(from[0]);
    show("first", own);
    // What the other binds anew is seen by the next launch.
    meet<<<1, 1>>>(view, own, 1);
    T(cudaDeviceSynchronize());
    show("first", own);
    TELL(to[1]);
    int status = 0;
    waitpid(child, &status, 0);
    SHOW(status);
    show("first", own);
}

static char** all_words;

static void second() {
    int file, from, to;
    sscanf(all_words[2], "%d %d %d", &file, &from, &to);
    OK(cudaSetDevice(1));
    OK(cudaFree(0));
    CUmemGenericAllocationHandle object;
    OK(cuMemImportFromShareableHandle(&object, (void*)(intptr_t)file, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    T(cuMulticastAddDevice(object, 0));
    OK(cuMulticastAddDevice(object, 1));
    TELL(to);
    WAIT(from);
    unsigned* own = memory_of(object, 1, 200, 8);
    auto view = (unsigned*)mapped(object, 1);
    TELL(to);
    WAIT(from);
    meet<<<1, 1>>>(view, own, 10);
    T(cudaDeviceSynchronize());
    show("second", own);
    T(cuMulticastUnbind(object, 1, 0, SIZE));
    unsigned* other = memory_of(object, 1, 300, 50);
    TELL(to);
    WAIT(from);
    show("second", own);
    show("other", other);
}

int main(int count, char** words) {
    all_words = words;
    return run_cases(count, words, {{"first", first}, {"-second", second}});
}
