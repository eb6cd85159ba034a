"""Arrays of other packages, arrays that are mapped, profiles of launches on them."""

import gc
import threading
from types import SimpleNamespace

import numpy as np
import pytest

import warpgrind
from kernels import FOREVER, SAXPY

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
    forever = warpgrind.load(FOREVER, timeout=0.5, raises=False)
    mapped = forever.mapped(np.zeros(8, np.float32))
    thread = threading.Thread(target=lambda: forever.kernel[1, 1]())
    thread.start()
    while not thread.is_alive():
        pass
    del mapped
    gc.collect()
    thread.join()


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
