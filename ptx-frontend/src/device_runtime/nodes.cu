// Updates of a graph's kernel nodes by kernels, of which the simulator does each one (sim-core/src/ops/launches.rs): here
// values are read through pointers. `nodes.ptx` is made of this file as `launches.ptx` is of its.
#include <cuda_runtime.h>

#define ENTRY extern "C" __device__ cudaError_t

extern "C" {
// Codes. A parameter has up to 8 bytes; one of none asks whether there are parameters up to the offset.
__device__ int __warpgrind_node_parameter(cudaGraphDeviceNode_t node, size_t offset, unsigned bytes, size_t value);
__device__ int __warpgrind_node_grid(cudaGraphDeviceNode_t node, unsigned x, unsigned y, unsigned z);
__device__ int __warpgrind_node_enabled(cudaGraphDeviceNode_t node, unsigned enabled);
}

ENTRY cudaGraphKernelNodeSetParam(cudaGraphDeviceNode_t node, size_t offset, const void* value, size_t size) {
    if (offset + size < offset) return cudaErrorInvalidValue;
    int code = __warpgrind_node_parameter(node, offset + size, 0, 0);
    const unsigned char* from = (const unsigned char*)value;
    for (size_t at = 0; !code && at < size; at += 8) {
        unsigned bytes = size - at < 8 ? size - at : 8;
        size_t word = 0;
        for (unsigned byte = 0; byte < bytes; byte++) word |= (size_t)from[at + byte] << 8 * byte;
        code = __warpgrind_node_parameter(node, offset + at, bytes, word);
    }
    return (cudaError_t)code;
}

ENTRY cudaGraphKernelNodeSetEnabled(cudaGraphDeviceNode_t node, bool enable) {
    return (cudaError_t)__warpgrind_node_enabled(node, enable);
}

ENTRY cudaGraphKernelNodeSetGridDim(cudaGraphDeviceNode_t node, dim3 grid) {
    return (cudaError_t)__warpgrind_node_grid(node, grid.x, grid.y, grid.z);
}

ENTRY cudaGraphKernelNodeUpdatesApply(const cudaGraphKernelNodeUpdate* updates, size_t count) {
    for (size_t at = 0; at < count; at++) {
        const cudaGraphKernelNodeUpdate& one = updates[at];
        cudaError_t code = cudaErrorInvalidValue;
        if (one.field == cudaGraphKernelNodeFieldGridDim)
            code = cudaGraphKernelNodeSetGridDim(one.node, one.updateData.gridDim);
        if (one.field == cudaGraphKernelNodeFieldParam)
            code = cudaGraphKernelNodeSetParam(
                one.node, one.updateData.param.offset, one.updateData.param.pValue, one.updateData.param.size);
        if (one.field == cudaGraphKernelNodeFieldEnabled)
            code = cudaGraphKernelNodeSetEnabled(one.node, one.updateData.isEnabled != 0);
        if (code) return code;
    }
    return cudaSuccess;
}
