"""cuda-python: the driver interface, NVRTC to PTX and to machine code, and cuda.core with its linker."""
import numpy as np
from cuda.bindings import driver, nvfatbin, nvrtc


def check(result):
    status, *values = result
    assert int(status) == 0, status
    return values[0] if len(values) == 1 else values


source = rb"""
extern "C" __global__ void saxpy(float a, const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
"""
program = check(nvrtc.nvrtcCreateProgram(source, b"saxpy.cu", 0, [], []))
check(nvrtc.nvrtcCompileProgram(program, 1, [b"--gpu-architecture=compute_90"]))
size = check(nvrtc.nvrtcGetPTXSize(program))
ptx = b" " * size
check(nvrtc.nvrtcGetPTX(program, ptx))
check(driver.cuInit(0))
device = check(driver.cuDeviceGet(0))
context = check(driver.cuDevicePrimaryCtxRetain(device))
check(driver.cuCtxSetCurrent(context))
module = check(driver.cuModuleLoadData(ptx))
kernel = check(driver.cuModuleGetFunction(module, b"saxpy"))
n = 3000
x, y = np.arange(n, dtype=np.float32), np.ones(n, dtype=np.float32)
dx, dy = check(driver.cuMemAlloc(x.nbytes)), check(driver.cuMemAlloc(y.nbytes))
stream = check(driver.cuStreamCreate(0))
check(driver.cuMemcpyHtoDAsync(dx, x.ctypes.data, x.nbytes, stream))
check(driver.cuMemcpyHtoDAsync(dy, y.ctypes.data, y.nbytes, stream))
arguments = [np.array(2.0, np.float32), np.array(int(dx), np.uint64), np.array(int(dy), np.uint64), np.array(n, np.int32)]
pointers = np.array([argument.ctypes.data for argument in arguments], dtype=np.uint64)
check(driver.cuLaunchKernel(kernel, 12, 1, 1, 256, 1, 1, 0, stream, pointers.ctypes.data, 0))
out = np.zeros_like(y)
check(driver.cuMemcpyDtoHAsync(out.ctypes.data, dy, out.nbytes, stream))
check(driver.cuStreamSynchronize(stream))
assert np.array_equal(out, 2 * x + 1)
check(driver.cuMemFree(dx))
check(driver.cuMemFree(dy))
check(driver.cuModuleUnload(module))

# What is asked for as machine code is a cubin with its PTX; it is packed, linked and loaded as one.
program = check(nvrtc.nvrtcCreateProgram(source, b"saxpy.cu", 0, [], []))
check(nvrtc.nvrtcCompileProgram(program, 1, [b"-arch=sm_90"]))
cubin = b" " * check(nvrtc.nvrtcGetCUBINSize(program))
check(nvrtc.nvrtcGetCUBIN(program, cubin))
check(nvrtc.nvrtcDestroyProgram(program))
packer = nvfatbin.create(["-64"], 1)
nvfatbin.add_cubin(packer, cubin, len(cubin), "90", "saxpy")
fatbin = bytearray(nvfatbin.size(packer))
nvfatbin.get(packer, fatbin)
linking = check(driver.cuLinkCreate(0, [], []))
check(driver.cuLinkAddData(linking, driver.CUjitInputType.CU_JIT_INPUT_CUBIN, cubin, len(cubin), b"saxpy", 0, [], []))
linked, _ = check(driver.cuLinkComplete(linking))
for image in (cubin, bytes(fatbin), linked):
    module = check(driver.cuModuleLoadData(image))
    check(driver.cuModuleGetFunction(module, b"saxpy"))
    check(driver.cuModuleUnload(module))
check(driver.cuLinkDestroy(linking))

from cuda.core import Device, LaunchConfig, Linker, LinkerOptions, Program, ProgramOptions, launch

device = Device(0)
device.set_current()
stream = device.create_stream()
parts = [
    "extern __device__ float twice(float); extern \"C\" __global__ void f(float* x) { x[threadIdx.x] = twice(x[threadIdx.x]); }",
    "__device__ float twice(float x) { return 2 * x; }",
]
options = ProgramOptions(arch="sm_90", relocatable_device_code=True)
objects = [Program(part, code_type="c++", options=options).compile("ptx") for part in parts]
linked = Linker(*objects, options=LinkerOptions(arch="sm_90")).link("cubin")
one = Program("template <typename T> __global__ void g(T* x) { x[threadIdx.x] += T(1); }", code_type="c++",
              options=ProgramOptions(arch="sm_90")).compile("cubin", name_expressions=("g<float>",))
buffer = device.allocate(128, stream=stream)
host = np.arange(32, dtype=np.float32)
check(driver.cuMemcpyHtoD(int(buffer.handle), host.ctypes.data, 128))
launch(stream, LaunchConfig(grid=1, block=32), linked.get_kernel("f"), buffer)
launch(stream, LaunchConfig(grid=1, block=32), one.get_kernel("g<float>"), buffer)
stream.sync()
check(driver.cuMemcpyDtoH(host.ctypes.data, int(buffer.handle), 128))
assert np.array_equal(host, 2 * np.arange(32, dtype=np.float32) + 1)
print("cuda-python: driver, NVRTC and cuda.core as expected")
