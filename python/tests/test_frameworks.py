"""Kernels of Numba and Triton: the conventions, what they compiled once, and what they compile here if they are installed."""

import enum
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import warpgrind
from kernels import HEAD
from test_arrays import Elsewhere

#: Adds one to each value of an array that Numba's convention passes.
NUMBA = HEAD + """
.visible .entry increment(.param .u64 owner, .param .u64 parent, .param .u64 nitems, .param .u64 itemsize,
                          .param .u64 data, .param .u64 extent, .param .u64 stride, .param .f32 by) {
    .reg .pred %p; .reg .b32 %r; .reg .f32 %f<2>; .reg .b64 %rd<6>;
    ld.param.u64 %rd0, [nitems]; ld.param.u64 %rd1, [data]; ld.param.u64 %rd2, [stride]; ld.param.f32 %f0, [by];
    mov.u32 %r, %tid.x;
    cvt.u64.u32 %rd3, %r;
    setp.ge.u64 %p, %rd3, %rd0;
    @%p ret;
    mad.lo.s64 %rd4, %rd3, %rd2, %rd1;
    ld.global.f32 %f1, [%rd4];
    add.f32 %f1, %f1, %f0;
    st.global.f32 [%rd4], %f1;
    ret;
}
"""

#: As Triton makes kernels: the block is fixed, and two pointers follow that the program does not pass.
TRITON = HEAD + """
.visible .entry fill(.param .u64 p, .param .u32 value, .param .u64 scratch, .param .u64 profile)
.reqntid 64
{
    .reg .b32 %r<3>; .reg .b64 %rd<3>;
    ld.param.u64 %rd0, [p]; ld.param.u32 %r0, [value];
    mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;
    mad.lo.u32 %r1, %r2, 64, %r1;
    mul.wide.u32 %rd1, %r1, 4;
    add.u64 %rd2, %rd0, %rd1;
    st.global.u32 [%rd2], %r0;
    ret;
}
"""


class Dispatcher:
    """A kernel of Numba's, as far as it is looked at."""

    def __init__(self, *signatures):
        self.signatures = signatures

    def inspect_asm(self):
        return {signature: NUMBA for signature in self.signatures}


def test_a_kernel_of_numba():
    x = np.zeros(100, np.float32)
    kernel = warpgrind.load(Dispatcher("(Array(float32, 1, 'C', False, aligned=True), float32)")).kernel
    kernel[1, 128](x, 1.5)
    assert (x == 1.5).all()
    device = kernel.module.array(x)
    kernel[1, 128](device, 1.0)
    assert (device.numpy() == 2.5).all()
    warpgrind.load(NUMBA, convention="numba").kernel[1, 128](x, 1.5)
    assert (x == 3).all()
    with pytest.raises(warpgrind.Error, match="2 signatures: a; b"):
        warpgrind.load(Dispatcher("a", "b"))
    with pytest.raises(warpgrind.Error, match="0 signatures"):
        warpgrind.load(Dispatcher())
    with pytest.raises(warpgrind.LaunchError, match="numba or triton"):
        warpgrind.load(NUMBA, convention="cupy")


def test_arrays_of_numba_keep_their_order():
    flat = warpgrind.frameworks.numba
    rows = np.zeros((3, 5), np.float64)
    assert flat([rows, 1], 0, 1) == [0, 0, 15, 8, rows, 3, 5, 40, 8, 1]
    columns = np.zeros((3, 5), np.float64, order="F")
    parameters = flat([columns, columns], 0, 1)
    assert parameters[5:9] == [3, 5, 8, 24] and parameters[4].flags.c_contiguous
    assert np.shares_memory(parameters[4], columns) and parameters[4] is parameters[13]
    apart = np.zeros((6, 5), np.float64)[::2]
    assert flat([apart], 0, 1)[5:] == [3, 5, 40, 8]


def test_arguments_of_numba_are_taken_apart():
    flat = warpgrind.frameworks.numba

    class Colour(enum.Enum):
        RED = 7

    x = np.zeros(3, np.float32)
    words = flat([(1, (2.5, x)), Colour.RED, np.complex64(1 + 2j), 3j, np.timedelta64(5, "s"), np.int8(4)], 0, 1)
    assert words[:2] == [1, 2.5] and words[6] is x
    assert words[9:] == [7, 1, 2, 0, 3, 5, 4]
    assert [type(word) for word in words[10:12]] == [np.float32] * 2 and type(words[14]) is np.int64
    records = np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")])
    record, = flat([records[0]], 0, 1)
    assert record.shape == () and record.tobytes() == records.tobytes()
    # An array of another package is one, however often it is passed.
    other = Elsewhere(np.arange(4, dtype=np.float32))
    words = flat([other, other], 0, 1)
    assert words[4] is words[11] and np.shares_memory(words[4], other.array)


def test_real_kernels_of_numba():
    try:
        from numba import cuda
    except Exception as error:
        # Where libraries of CUDA's are missing it may be anything.
        pytest.skip(f"numba-cuda is not there: {error}")

    def axpy(a, x, y):
        at = cuda.grid(1)
        if at < x.size:
            y[at] += a * x[at]

    def transpose(a, b):
        row, column = cuda.grid(2)
        if row < a.shape[0] and column < a.shape[1]:
            b[column, row] = a[row, column]

    def rotate(z, by, pair):
        at = cuda.grid(1)
        if at < z.size:
            z[at] = z[at] * by + pair[0] + pair[1]

    def block_sum(x, total):
        values = cuda.shared.array(128, numba_types.float32)
        at = cuda.threadIdx.x
        values[at] = x[cuda.grid(1)]
        cuda.syncthreads()
        step = 64
        while step > 0:
            if at < step:
                values[at] += values[at + step]
            cuda.syncthreads()
            step //= 2
        if at == 0:
            cuda.atomic.add(total, 0, values[0])

    def load(function, signature, **options):
        try:
            ptx = cuda.compile_ptx(function, signature, cc=(9, 0))[0]
        except Exception as error:
            pytest.skip(f"Numba does not compile here: {error}")
        return warpgrind.load(ptx, convention="numba", **options).kernel

    from numba import types as numba_types

    x, y = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32)
    load(axpy, "void(float32, float32[:], float32[:])")[4, 256](2.0, x, y)
    assert np.array_equal(y, 2 * x + 1)
    # Rows to columns: the order in memory is the signature's.
    rows, columns = np.arange(15.0).reshape(5, 3), np.zeros((3, 5), order="F")
    load(transpose, "void(float64[:,:], float64[::1,:])")[(1, 1), (8, 8)](rows, columns)
    assert np.array_equal(columns, rows.T)
    z = np.arange(4) + 1j
    load(rotate, "void(complex128[:], complex128, UniTuple(float64, 2))")[1, 32](z, 2j, (0.5, 1.0))
    assert np.array_equal(z, (np.arange(4) + 1j) * 2j + 1.5)
    total = np.zeros(1, np.float32)
    load(block_sum, "void(float32[:], float32[:])", tools="racecheck")[7, 128](x[:896], total)
    assert total[0] == x[:896].sum()


def test_numba_without_a_driver_is_said():
    def inspect_asm():
        raise OSError("CUDA driver library cannot be found.\nand more")

    with pytest.raises(warpgrind.Error, match="driver library cannot be found.\nhelp: .*compile_ptx"):
        warpgrind.load(SimpleNamespace(inspect_asm=inspect_asm))


def test_a_kernel_of_triton():
    compiled = SimpleNamespace(asm={"ptx": TRITON + "\0"}, metadata=SimpleNamespace(num_warps=2, shared=0, num_ctas=1))
    module = warpgrind.load(compiled)
    p = np.zeros(128, np.uint32)
    module.kernel[2](p, 7)
    assert (p == 7).all()
    module.kernel[(2, 1, 1)](p, 8)
    assert (p == 8).all()
    with pytest.raises(warpgrind.LaunchError, match="takes 4 arguments"):
        module.kernel[2](p, 7, 0, 0, 0)
    compiled.metadata.num_ctas = 2
    with pytest.raises(warpgrind.Error, match="num_ctas=2"):
        warpgrind.load(compiled)


PTX = Path(__file__).parents[2] / "testdata" / "ptx"


def test_what_triton_and_numba_compiled():
    """PTX of the frameworks' own, as they compiled it."""
    text = (PTX / "triton" / "vector_add.ptx").read_text()
    warps = int(re.search(r"block (\d+)", text)[1]) // 32
    size = int(re.search(r"BLOCK=(\d+)", text)[1])
    compiled = SimpleNamespace(asm={"ptx": text}, metadata=SimpleNamespace(num_warps=warps, shared=0, num_ctas=1))
    x, y, z = (np.arange(3 * size, dtype=np.float32) + at for at in range(3))
    warpgrind.load(compiled).kernel[3](x, y, z, 3 * size - 5)
    assert np.array_equal(z[:-5], (x + y)[:-5]) and z[-1] == 3 * size + 1
    y = np.ones(100, np.float32)
    warpgrind.load(PTX / "numba" / "axpy.ptx", convention="numba").kernel[1, 128](2.0, x[:100].copy(), y)
    assert np.array_equal(y, 2 * x[:100] + 1)


def test_real_kernels_of_triton():
    kernels = pytest.importorskip("triton_kernels", reason="Triton is not installed", exc_type=ImportError)
    random = np.random.default_rng(1)

    def load(kernel, signature, constants, **options):
        return warpgrind.load(kernels.compiled(kernel, signature, constants, **options)).kernel

    scale = load(kernels.scale, {"x": "*fp32", "out": "*fp32", "by": "fp32", "n": "i32"}, {"BLOCK": 256})
    x = random.random(1000, np.float32)
    out = np.empty_like(x)
    scale[4](x, out, 3.0, 1000)
    assert np.array_equal(out, x * np.float32(3))
    sums = load(kernels.row_sums, {"x": "*fp16", "out": "*fp32", "columns": "i32"}, {"BLOCK": 512}, num_warps=8)
    values = random.random((9, 300)).astype(np.float16)
    out = np.empty(9, np.float32)
    sums[9](values, out, 300)
    assert np.allclose(out, values.astype(np.float32).sum(1), rtol=1e-5)
    # Tensor cores through shared memory, as on the device: `wgmma`.
    product = {"a": "*fp16", "b": "*fp16", "out": "*fp32", "inner": "i32"}
    multiply = load(kernels.multiply, product, {"M": 64, "N": 64, "K": 32}, num_warps=4)
    a, b = random.random((64, 96)).astype(np.float16), random.random((96, 64)).astype(np.float16)
    out = np.empty((64, 64), np.float32)
    multiply[1](a, b, out, 96)
    assert np.allclose(out, a.astype(np.float32) @ b.astype(np.float32), rtol=1e-5)


def test_scratch_of_triton_is_there():
    """Each block has its part of memory that Triton asks for; this one leaves its number there and reads it again."""
    text = HEAD + """
.visible .entry k(.param .u64 p, .param .u64 scratch, .param .u64 profile) {
    .reg .b32 %r<2>; .reg .b64 %rd<6>;
    ld.param.u64 %rd0, [p]; ld.param.u64 %rd1, [scratch];
    mov.u32 %r0, %ctaid.x;
    mul.wide.u32 %rd2, %r0, 256;
    add.u64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3+252], %r0;
    ld.global.u32 %r1, [%rd3+252];
    mul.wide.u32 %rd4, %r0, 4;
    add.u64 %rd5, %rd0, %rd4;
    st.global.u32 [%rd5], %r1;
    ret;
}
"""
    metadata = SimpleNamespace(num_warps=1, shared=0, num_ctas=1, global_scratch_size=256)
    kernel = warpgrind.load(SimpleNamespace(asm={"ptx": text}, metadata=metadata)).kernel
    p = np.full(6, 99, np.uint32)
    kernel[(3, 2)](p)
    assert p.tolist() == [0, 1, 2, 99, 99, 99]
