"""Kernels, and a program that calls CUDA's driver, of which tests and measurements are made."""

HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"

#: `x[i] = a * x[i] + y[i]` for as many threads as there are.
SAXPY = HEAD + """
.visible .entry saxpy(.param .u64 x, .param .u64 y, .param .f32 a) {
    .reg .b32 %r; .reg .f32 %f<4>; .reg .b64 %rd<5>;
    ld.param.u64 %rd0, [x]; ld.param.u64 %rd1, [y]; ld.param.f32 %f0, [a];
    mov.u32 %r, %tid.x;
    mul.wide.u32 %rd2, %r, 4;
    add.u64 %rd3, %rd0, %rd2;
    add.u64 %rd4, %rd1, %rd2;
    ld.global.f32 %f1, [%rd3];
    ld.global.f32 %f2, [%rd4];
    fma.rn.f32 %f3, %f0, %f1, %f2;
    st.global.f32 [%rd3], %f3;
    ret;
}
"""

#: All blocks write their number to one word.
RACE = HEAD + """
.visible .entry last(.param .u64 p) {
    .reg .b32 %r; .reg .b64 %rd;
    ld.param.u64 %rd, [p];
    mov.u32 %r, %ctaid.x;
    st.global.u32 [%rd], %r;
    ret;
}
"""

#: A launch file of it, beside `race.ptx`.
RACE_LAUNCH = """
modules = ["race.ptx"]
[buffers.p]
type = "u32"
shape = 1
init = 0
[[launch]]
kernel = "last"
grid = 4
block = 1
args = ["p"]
"""

FOREVER = HEAD + ".visible .entry forever() {\nL:\n    bra L;\n}\n"

#: Tests of a little client of the driver, as ctypes allows it.
CLIENT = f'''
import ctypes, pytest

PTX = b"""{RACE}"""

@pytest.fixture(scope="module")
def cuda():
    driver = ctypes.CDLL("libcuda.so.1")
    def call(name, *arguments):
        status = getattr(driver, name)(*arguments)
        assert status == 0, f"{{name}}: {{status}}"
    context, module = ctypes.c_void_p(), ctypes.c_void_p()
    call("cuInit", 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
    call("cuCtxSetCurrent", context)
    call("cuModuleLoadData", ctypes.byref(module), PTX)
    call.module = module
    return call

def launch(cuda, blocks):
    kernel, word = ctypes.c_void_p(), ctypes.c_uint64()
    cuda("cuModuleGetFunction", ctypes.byref(kernel), cuda.module, b"last")
    cuda("cuMemAlloc_v2", ctypes.byref(word), 4)
    parameters = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.byref(word), ctypes.c_void_p))
    cuda("cuLaunchKernel", kernel, blocks, 1, 1, 1, 1, 1, 0, None, parameters, None)

def test_one_block(cuda):
    launch(cuda, 1)

def test_blocks_race(cuda):
    launch(cuda, 8)

def test_again_one_block(cuda):
    launch(cuda, 1)

@pytest.mark.real_device
def test_speed():
    assert False
'''
