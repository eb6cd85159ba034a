"""Arrays of other packages, arrays that are mapped, and kernels of frameworks."""

import gc
import re
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import warpgrind
from test_module import HEAD, SAXPY

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


class Elsewhere:
    """An array as PyTorch, JAX or CuPy have them."""

    def __init__(self, array, device=(1, 0), versioned=True):
        self.array, self.device, self.versioned = array, device, versioned

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, *, stream=None, **words):
        return self.array.__dlpack__(**(words if self.versioned else {}))


@pytest.fixture
def saxpy():
    return warpgrind.load(SAXPY)


def test_arrays_of_other_packages_are_taken(saxpy):
    x, y = np.arange(8, dtype=np.float32), np.ones(8, np.float32)
    saxpy.kernel[1, 8](Elsewhere(x), Elsewhere(y), 2.0)
    assert x.tolist() == [2 * at + 1 for at in range(8)]
    twice = Elsewhere(x)
    saxpy.kernel[1, 8](twice, twice, 0.0)
    with pytest.raises(warpgrind.LaunchError, match="overlaps"):
        saxpy.kernel[1, 8](Elsewhere(x), Elsewhere(x), 0.0)


def test_an_old_exporter_is_written_to_where_it_allows_it(saxpy):
    x = np.zeros(8, np.float32)
    # What says nothing of writing is read alone,
    saxpy.kernel[1, 8](Elsewhere(x, versioned=False), np.ones(8, np.float32), 2.0)
    assert not x.any()

    class Tensor(Elsewhere):
        def __array__(self, dtype=None, copy=None):
            return self.array

    # but numpy's own view of the same memory may say it.
    saxpy.kernel[1, 8](Tensor(x, versioned=False), np.ones(8, np.float32), 2.0)
    assert x.all()


def test_memory_of_a_real_device_is_refused_by_name(saxpy):
    ours = np.zeros(8, np.float32)
    cupy = SimpleNamespace(__cuda_array_interface__={"shape": (8,), "typestr": "<f4", "data": (0x7F00, False), "version": 3})
    for foreign in (Elsewhere(ours, device=(2, 0)), Elsewhere(ours, device=(10, 0)), cupy):
        with pytest.raises(warpgrind.LaunchError, match="another device.*\n.*warpgrind exec"):
            saxpy.kernel[1, 8](foreign, ours, 1.0)
    # Pinned memory is the host's.
    saxpy.kernel[1, 8](ours, np.zeros(8, np.float32), 1.0)


def test_device_arrays_are_exported_as_copies(saxpy):
    x = saxpy.array(np.arange(4, dtype=np.int32))
    there = np.from_dlpack(x)
    assert there.tolist() == [0, 1, 2, 3]
    x.set(9)
    assert there.tolist() == [0, 1, 2, 3]
    with pytest.raises(BufferError):
        x.__dlpack__(copy=False)
    assert not hasattr(x, "__cuda_array_interface__")


def test_mapped_arrays_are_not_copied(saxpy):
    x, y = np.arange(64, dtype=np.float32), np.ones(64, np.float32)
    mapped = saxpy.mapped(x, name="mapped")
    assert mapped.address == x.ctypes.data
    saxpy.kernel[1, 64](mapped, y, 2.0)
    assert x[3] == 7 and np.shares_memory(np.from_dlpack(mapped), x) and np.asarray(mapped) is x
    x[:] = 0
    saxpy.kernel[1, 64](mapped, y, 2.0)
    assert x.tolist() == [1] * 64
    mapped.set(3)
    assert x[0] == 3 and mapped.numpy() is x
    with pytest.raises(warpgrind.FindingError) as caught:
        saxpy.kernel[1, 128](mapped, np.ones(128, np.float32), 1.0)
    finding = caught.value.report.findings[0]
    assert finding.kind == "out-of-bounds" and "mapped" in finding.text


def test_mapped_arrays_are_given_back(saxpy):
    x = np.zeros(16, np.float32)
    address = saxpy.mapped(x).address
    gc.collect()
    with pytest.raises(warpgrind.FindingError):
        saxpy.kernel[1, 16](address, np.ones(16, np.float32), 1.0)
    # It can be mapped again, and its memory is Python's again.
    again = saxpy.mapped(x)
    saxpy.kernel[1, 16](again, np.ones(16, np.float32), 1.0)
    assert x.all()
    del again
    gc.collect()
    x.resize(32, refcheck=False)


def test_a_mapped_array_outlives_its_name(saxpy):
    mapped = saxpy.mapped(np.zeros(1 << 16, np.float32))
    gc.collect()
    saxpy.kernel[1, 32](mapped, np.ones(32, np.float32), 1.0)
    assert mapped.numpy()[:32].all() and not mapped.numpy()[32:].any()


@pytest.mark.parametrize(
    "array, why",
    [
        (np.zeros(8, np.float32)[::2], "one after the other"),
        (np.zeros(7, np.uint8), "multiples of four"),
        (np.zeros(9, np.uint8)[1:], "multiples of four"),
        (np.zeros(0, np.float32), "empty"),
        (np.broadcast_to(np.float32(0), (1,)), "read-only"),
        (np.array([object()]), "Python objects"),
    ],
)
def test_what_cannot_be_mapped(saxpy, array, why):
    with pytest.raises(warpgrind.LaunchError, match=why):
        saxpy.mapped(array)


def test_an_array_is_mapped_once(saxpy):
    x = np.zeros(8, np.float32)
    mapped = saxpy.mapped(x)
    with pytest.raises(warpgrind.LaunchError, match="there is an allocation already"):
        saxpy.mapped(x)
    # Another device may have it, too.
    warpgrind.load(SAXPY).mapped(x)
    assert mapped.address == x.ctypes.data


def test_dropping_a_mapped_array_waits_for_kernels():
    forever = warpgrind.load(HEAD + ".visible .entry forever() {\nL:\n    bra L;\n}\n", timeout=0.5, raises=False)
    mapped = forever.mapped(np.zeros(8, np.float32))
    thread = threading.Thread(target=lambda: forever.kernel[1, 1]())
    thread.start()
    while not thread.is_alive():
        pass
    del mapped
    gc.collect()
    thread.join()


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
    with pytest.raises(warpgrind.LaunchError, match="tuples"):
        kernel[1, 128]((x, x), 1.5)


def test_arrays_of_numba_keep_their_order():
    flat = warpgrind.frameworks.numba
    rows = np.zeros((3, 5), np.float64)
    assert flat([rows, 1], 0) == [0, 0, 15, 8, rows, 3, 5, 40, 8, 1]
    columns = np.zeros((3, 5), np.float64, order="F")
    parameters = flat([columns, columns], 0)
    assert parameters[5:9] == [3, 5, 8, 24] and parameters[4].flags.c_contiguous
    assert np.shares_memory(parameters[4], columns) and parameters[4] is parameters[13]
    apart = np.zeros((6, 5), np.float64)[::2]
    assert flat([apart], 0)[5:] == [3, 5, 40, 8]


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

    def load(function, signature):
        try:
            return warpgrind.load(cuda.compile_ptx(function, signature, cc=(9, 0))[0], convention="numba").kernel
        except Exception as error:
            if isinstance(error, warpgrind.Error):
                raise
            pytest.skip(f"Numba does not compile here: {error}")

    x, y = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32)
    load(axpy, "void(float32, float32[:], float32[:])")[4, 256](2.0, x, y)
    assert np.array_equal(y, 2 * x + 1)
    # Rows to columns: the order in memory is the signature's.
    rows, columns = np.arange(15.0).reshape(5, 3), np.zeros((3, 5), order="F")
    load(transpose, "void(float64[:,:], float64[::1,:])")[(1, 1), (8, 8)](rows, columns)
    assert np.array_equal(columns, rows.T)


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


def test_profiles(saxpy):
    x, y = np.arange(64, dtype=np.float32), np.ones(64, np.float32)
    profile = saxpy.kernel[1, 64].profile(x, y, 2.0)
    assert x[1] == 3, "it is a launch as any"
    # Each of two warps loads and stores four sectors an access.
    assert profile["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"] == 16
    assert profile["l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"] == 8
    metric = profile.metric("launch__block_dim_x")
    assert (metric.value, metric.section) == (64, "launch")
    assert profile.report.is_clean and "saxpy" in str(profile) and "<table>" in profile._repr_html_()
    assert saxpy.kernel[1, 64](x, y, 2.0).profile is None
    assert saxpy.kernel[1, 64](x, y, 2.0, profile=True).profile["launch__grid_dim_x"] == 1
    with pytest.raises(KeyError):
        profile["nosuch"]
