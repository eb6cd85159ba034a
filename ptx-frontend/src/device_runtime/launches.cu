// What CUDA's device runtime has for kernels that launch kernels, as far as it writes through pointers or is a kernel
// itself: copies and fills are launches into their stream. The rest, and what is called here by names of warpgrind,
// the simulator does by itself (sim-core/src/ops/launches.rs). `launches.ptx` is made of this file:
//
//     nvcc -rdc=true -arch=compute_75 -std=c++17 -O2 -ptx launches.cu -o launches.ptx && sed -i '/^\/\//d' launches.ptx
//
// Codes and the order in which arguments are checked are those of CUDA 13.0's device runtime on an H200.
#include <cuda_runtime.h>

// The header leaves its own names for these unusable behind it.
#undef __cudaCDP2DeviceGetAttribute
#undef __cudaCDP2DeviceGetLimit
#undef __cudaCDP2DeviceGetCacheConfig
#undef __cudaCDP2DeviceGetSharedMemConfig
#undef __cudaCDP2GetDeviceCount
#undef __cudaCDP2GetDevice
#undef __cudaCDP2StreamCreateWithFlags
#undef __cudaCDP2EventCreateWithFlags
#undef __cudaCDP2FuncGetAttributes
#undef __cudaCDP2Free
#undef __cudaCDP2Malloc
#undef __cudaCDP2MemcpyAsync
#undef __cudaCDP2MemcpyAsync_ptsz
#undef __cudaCDP2Memcpy2DAsync
#undef __cudaCDP2Memcpy2DAsync_ptsz
#undef __cudaCDP2Memcpy3DAsync
#undef __cudaCDP2Memcpy3DAsync_ptsz
#undef __cudaCDP2MemsetAsync
#undef __cudaCDP2MemsetAsync_ptsz
#undef __cudaCDP2Memset2DAsync
#undef __cudaCDP2Memset2DAsync_ptsz
#undef __cudaCDP2Memset3DAsync
#undef __cudaCDP2Memset3DAsync_ptsz
#undef __cudaCDP2RuntimeGetVersion
#undef __cudaCDP2OccupancyMaxActiveBlocksPerMultiprocessor
#undef __cudaCDP2OccupancyMaxActiveBlocksPerMultiprocessorWithFlags
#undef __cudaCDP2GetLastError
#undef __cudaCDP2PeekAtLastError

#define ENTRY extern "C" __device__ cudaError_t

extern "C" {
// Makes a code the thread's last error and returns it.
__device__ int __warpgrind_set_error(int code);
// Handles; 0 with an error set.
__device__ unsigned long long __warpgrind_stream_create(unsigned flags);
__device__ unsigned long long __warpgrind_event_create(unsigned flags);
// A value, or a negative code.
__device__ long long __warpgrind_device(int which, int device);
__device__ long long __warpgrind_limit(int limit);
__device__ long long __warpgrind_function(const void* function, int which);
__device__ long long __warpgrind_occupancy(const void* function, int threads, unsigned long long shared);
// Tells the caller's caller that zeros are filled in instead of a value.
__device__ void __warpgrind_ignored_value(int value);
}

// What `__warpgrind_device` is asked for besides attributes, which have their numbers.
enum { DEVICE = -1, COUNT = -2, VERSION = -3, CACHE_CONFIG = -4, SHARED_CONFIG = -5 };

static __device__ cudaError_t fail(long long code) {
    return (cudaError_t)__warpgrind_set_error((int)code);
}

template <class T>
static __device__ cudaError_t answer(T* to, long long value) {
    if (!to) return fail(cudaErrorInvalidValue);
    if (value < 0) return fail(-value);
    *to = (T)value;
    return cudaSuccess;
}

ENTRY __cudaCDP2DeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
    return answer(value, __warpgrind_device(attribute, device));
}
ENTRY __cudaCDP2GetDevice(int* device) {
    return answer(device, __warpgrind_device(DEVICE, 0));
}
ENTRY __cudaCDP2GetDeviceCount(int* count) {
    return answer(count, __warpgrind_device(COUNT, 0));
}
ENTRY __cudaCDP2RuntimeGetVersion(int* version) {
    return answer(version, __warpgrind_device(VERSION, 0));
}
ENTRY __cudaCDP2DeviceGetCacheConfig(cudaFuncCache* config) {
    return answer(config, __warpgrind_device(CACHE_CONFIG, 0));
}
ENTRY __cudaCDP2DeviceGetSharedMemConfig(cudaSharedMemConfig* config) {
    return answer(config, __warpgrind_device(SHARED_CONFIG, 0));
}
// These two leave the last error alone.
ENTRY __cudaCDP2DeviceGetLimit(size_t* value, cudaLimit limit) {
    long long found = value ? __warpgrind_limit(limit) : -cudaErrorInvalidValue;
    if (value) *value = found < 0 ? -1 : found;
    return found < 0 ? (cudaError_t)-found : cudaSuccess;
}
ENTRY __cudaCDP2OccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* blocks, const void* function, int threads, size_t shared, unsigned flags) {
    long long found = blocks && flags <= 1 ? __warpgrind_occupancy(function, threads, shared) : -cudaErrorInvalidValue;
    if (found < 0) return (cudaError_t)-found;
    *blocks = found;
    return cudaSuccess;
}
ENTRY __cudaCDP2OccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int threads, size_t shared) {
    return __cudaCDP2OccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, shared, 0);
}
ENTRY __cudaCDP2FuncGetAttributes(cudaFuncAttributes* to, const void* function) {
    if (!to || !function) return fail(cudaErrorInvalidValue);
    to->sharedSizeBytes = to->constSizeBytes = to->localSizeBytes = 0;
    to->maxThreadsPerBlock = to->numRegs = to->ptxVersion = to->binaryVersion = 0;
    long long values[7];
    for (int which = 0; which < 7; which++) {
        values[which] = __warpgrind_function(function, which);
        if (values[which] < 0) return fail(-values[which]);
    }
    to->sharedSizeBytes = values[0];
    to->constSizeBytes = values[1];
    to->localSizeBytes = values[2];
    to->maxThreadsPerBlock = values[3];
    to->numRegs = values[4];
    to->ptxVersion = values[5];
    to->binaryVersion = values[6];
    return cudaSuccess;
}

ENTRY __cudaCDP2Malloc(void** to, size_t bytes) {
    if (!to || !bytes) return fail(cudaErrorInvalidValue);
    void* got = malloc(bytes);
    if (!got) return fail(cudaErrorMemoryAllocation);
    *to = got;
    return cudaSuccess;
}
ENTRY __cudaCDP2Free(void* block) {
    if (block) free(block);
    return cudaSuccess;
}

ENTRY __cudaCDP2StreamCreateWithFlags(cudaStream_t* to, unsigned flags) {
    if (!to) return fail(cudaErrorInvalidValue);
    unsigned long long handle = __warpgrind_stream_create(flags);
    if (!handle) return cudaPeekAtLastError();
    *to = (cudaStream_t)handle;
    return cudaSuccess;
}
ENTRY __cudaCDP2EventCreateWithFlags(cudaEvent_t* to, unsigned flags) {
    if (!to) return fail(cudaErrorInvalidValue);
    unsigned long long handle = __warpgrind_event_create(flags);
    if (!handle) return cudaPeekAtLastError();
    *to = (cudaEvent_t)handle;
    return cudaSuccess;
}

struct Box {
    size_t pitch, slice;
};

// Rows of bytes; words where all begin at multiples of 16 and are as long.
extern "C" __global__ void __cudaCDP2Copy(
    char* to, Box to_box, const char* from, Box from_box, size_t width, size_t height, size_t depth, size_t unit) {
    size_t first = blockIdx.x * (size_t)blockDim.x + threadIdx.x, step = gridDim.x * (size_t)blockDim.x;
    size_t units = width / unit;
    for (size_t z = 0; z < depth; z++)
        for (size_t y = 0; y < height; y++) {
            char* row = to + z * to_box.slice + y * to_box.pitch;
            const char* source = from + z * from_box.slice + y * from_box.pitch;
            for (size_t x = first; x < units; x += step) {
                if (unit == 16)
                    ((int4*)row)[x] = ((const int4*)source)[x];
                else
                    row[x] = source[x];
            }
        }
}
// With zeros: CUDA's device runtime drops the value of a fill (its machine code, CUDA 12.9 to 13.5, and every fill on an H200).
extern "C" __global__ void __cudaCDP2Fill(char* to, Box box, size_t width, size_t height, size_t depth, size_t unit) {
    size_t first = blockIdx.x * (size_t)blockDim.x + threadIdx.x, step = gridDim.x * (size_t)blockDim.x;
    size_t units = width / unit;
    for (size_t z = 0; z < depth; z++)
        for (size_t y = 0; y < height; y++) {
            char* row = to + z * box.slice + y * box.pitch;
            for (size_t x = first; x < units; x += step) {
                if (unit == 16)
                    ((int4*)row)[x] = make_int4(0, 0, 0, 0);
                else
                    row[x] = 0;
            }
        }
}

static __device__ unsigned blocks_for(size_t units) {
    size_t blocks = (units + 255) / 256;
    return blocks < 1 ? 1 : blocks < 256 ? (unsigned)blocks : 256;
}

// An error from before a launch is the last one still when nothing is wrong with that.
static __device__ cudaError_t launched(cudaError_t before) {
    cudaError_t now = cudaPeekAtLastError();
    if (now == cudaSuccess && before != cudaSuccess) fail(before);
    return now;
}

static __device__ cudaError_t copy(
    void* to, Box to_box, const void* from, Box from_box, size_t width, size_t height, size_t depth, int kind, cudaStream_t stream) {
    if (width == 0 || height == 0 || depth == 0) return cudaSuccess;
    if (kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault) return fail(cudaErrorInvalidMemcpyDirection);
    if (!to || !from || !__isGlobal(from) || !__isGlobal(to)) return fail(cudaErrorInvalidValue);
    size_t bits = (size_t)to | (size_t)from | width | (height > 1 || depth > 1 ? to_box.pitch | from_box.pitch : 0) |
                  (depth > 1 ? to_box.slice | from_box.slice : 0);
    size_t unit = bits % 16 == 0 ? 16 : 1;
    cudaError_t before = cudaGetLastError();
    __cudaCDP2Copy<<<blocks_for(width / unit), 256, 0, stream>>>(
        (char*)to, to_box, (const char*)from, from_box, width, height, depth, unit);
    return launched(before);
}

static __device__ cudaError_t fill(void* to, Box box, int value, size_t width, size_t height, size_t depth, cudaStream_t stream) {
    if (width == 0 || height == 0 || depth == 0) return cudaSuccess;
    if (!to || !__isGlobal(to)) return fail(cudaErrorInvalidValue);
    size_t bits = (size_t)to | width | (height > 1 || depth > 1 ? box.pitch : 0) | (depth > 1 ? box.slice : 0);
    size_t unit = bits % 16 == 0 ? 16 : 1;
    if (value & 255) __warpgrind_ignored_value(value);
    cudaError_t before = cudaGetLastError();
    __cudaCDP2Fill<<<blocks_for(width / unit), 256, 0, stream>>>((char*)to, box, width, height, depth, unit);
    return launched(before);
}

#define BOTH(NAME, PARAMETERS, ...)            \
    ENTRY NAME PARAMETERS { __VA_ARGS__ }      \
    ENTRY NAME##_ptsz PARAMETERS { __VA_ARGS__ }

BOTH(__cudaCDP2MemcpyAsync, (void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream),
     return copy(to, Box{bytes, bytes}, from, Box{bytes, bytes}, bytes, 1, 1, kind, stream);)
BOTH(__cudaCDP2Memcpy2DAsync,
     (void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height, cudaMemcpyKind kind,
      cudaStream_t stream),
     if (width > to_pitch || width > from_pitch) return fail(cudaErrorInvalidPitchValue);
     return copy(to, Box{to_pitch, to_pitch * height}, from, Box{from_pitch, from_pitch * height}, width, height, 1, kind, stream);)
BOTH(__cudaCDP2Memcpy3DAsync, (const cudaMemcpy3DParms* p, cudaStream_t stream),
     if (!p || p->srcArray || p->dstArray || !p->srcPtr.ptr || !p->dstPtr.ptr) return fail(cudaErrorInvalidValue);
     Box to_box = {p->dstPtr.pitch, p->dstPtr.pitch * p->dstPtr.ysize};
     Box from_box = {p->srcPtr.pitch, p->srcPtr.pitch * p->srcPtr.ysize};
     if (p->extent.width > p->dstPtr.pitch || p->extent.width > p->srcPtr.pitch) return fail(cudaErrorInvalidPitchValue);
     char* to = (char*)p->dstPtr.ptr + p->dstPos.x + p->dstPos.y * to_box.pitch + p->dstPos.z * to_box.slice;
     const char* from = (const char*)p->srcPtr.ptr + p->srcPos.x + p->srcPos.y * from_box.pitch + p->srcPos.z * from_box.slice;
     return copy(to, to_box, from, from_box, p->extent.width, p->extent.height, p->extent.depth, p->kind, stream);)
BOTH(__cudaCDP2MemsetAsync, (void* to, int value, size_t bytes, cudaStream_t stream),
     return fill(to, Box{bytes, bytes}, value, bytes, 1, 1, stream);)
BOTH(__cudaCDP2Memset2DAsync, (void* to, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream),
     if (width > pitch) return fail(cudaErrorInvalidValue);
     return fill(to, Box{pitch, pitch * height}, value, width, height, 1, stream);)
BOTH(__cudaCDP2Memset3DAsync, (cudaPitchedPtr to, int value, cudaExtent extent, cudaStream_t stream),
     if (extent.width > to.pitch) return fail(cudaErrorInvalidValue);
     return fill(to.ptr, Box{to.pitch, to.pitch * to.ysize}, value, extent.width, extent.height, extent.depth, stream);)
