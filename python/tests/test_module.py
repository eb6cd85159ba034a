"""Modules, launches, arrays and findings from Python."""

import gc
import os
import signal
import threading
import time
import weakref

import numpy as np
import pytest

import warpgrind
from kernels import FOREVER, HEAD, RACE, SAXPY


@pytest.fixture
def saxpy():
    return warpgrind.load(SAXPY)


def test_arrays_come_back(saxpy):
    x, y = np.arange(64, dtype=np.float32), np.ones(64, np.float32)
    report = saxpy["saxpy"][1, 64](x, y, 3.0)
    assert report.is_clean and report.outcome == "completed"
    assert np.array_equal(x, 3 * np.arange(64, dtype=np.float32) + 1)
    assert report.stats["blocks"] == 1


def test_an_array_that_is_there_twice_is_one(saxpy):
    x = np.arange(32, dtype=np.float32)
    saxpy.kernel[1, 32](x, x, 1.0)
    assert np.array_equal(x, 2 * np.arange(32, dtype=np.float32))


def test_every_layout_is_taken(saxpy):
    whole = np.arange(128, dtype=np.float32).reshape(64, 2)
    columns = whole[:, 0]
    saxpy.kernel[1, 64](columns, np.zeros(64, np.float32), 2.0)
    assert np.array_equal(whole[:, 0], 2 * np.arange(0, 128, 2))
    assert np.array_equal(whole[:, 1], np.arange(1, 128, 2)), "what lies between is not touched"
    square = np.asfortranarray(np.arange(16, dtype=np.float32).reshape(4, 4))
    saxpy.kernel[1, 16](square, np.zeros(16, np.float32), 2.0)
    assert np.array_equal(square, 2 * np.arange(16, dtype=np.float32).reshape(4, 4))


def test_arrays_that_may_not_be_written_stay(saxpy):
    x, y = np.zeros(4, np.float32), np.ones(4, np.float32)
    x.flags.writeable = False
    saxpy.kernel[1, 4](x, y, 1.0)
    assert not x.any()


def test_arrays_that_overlap_are_refused(saxpy):
    x = np.zeros(8, np.float32)
    with pytest.raises(warpgrind.LaunchError, match="overlaps"):
        saxpy.kernel[1, 4](x[:5], x[3:], 1.0)


def test_numbers_fit_their_parameters(saxpy):
    x, y = np.zeros(4, np.float32), np.ones(4, np.float32)
    for number in (2, 2.0, np.float32(2)):
        saxpy.kernel[1, 4](x, y, number)
    for wrong in (np.float64(2), np.int32(2), "2", None, [1, 2]):
        with pytest.raises(warpgrind.LaunchError):
            saxpy.kernel[1, 4](x, y, wrong)
    with pytest.raises(warpgrind.LaunchError, match="takes 3 arguments, 2 given"):
        saxpy.kernel[1, 4](x, y)
    for grid, block in [(0, 1), (1, 0), (1, 1025), ((1, 2, 3, 4), 1), (-1, 1), (1 << 40, 1)]:
        with pytest.raises(warpgrind.LaunchError):
            saxpy.kernel[grid, block](x, y, 1.0)
    with pytest.raises(warpgrind.LaunchError, match="Python objects"):
        saxpy.kernel[1, 4](np.array([object()]), y, 1.0)


def test_what_is_no_ptx_says_where():
    with pytest.raises(warpgrind.PtxError, match="-->"):
        warpgrind.load(HEAD + ".visible .entry k() {\n    add.f33 %r, %r, %r;\n}\n")
    with pytest.raises(warpgrind.PtxError, match="nowhere.ptx"):
        warpgrind.load("nowhere.ptx")
    with pytest.raises(warpgrind.Error, match="the tools are"):
        warpgrind.load(RACE, tools="rececheck")


def test_kernels_are_a_mapping(saxpy):
    assert list(saxpy) == ["saxpy"] and len(saxpy) == 1 and "saxpy" in saxpy
    assert saxpy["saxpy"].parameters == [".u64 x", ".u64 y", ".f32 a"]
    with pytest.raises(KeyError, match="did you mean `saxpy`"):
        saxpy["saxpi"]


def test_a_race_is_raised_with_both_places():
    word = np.zeros(1, np.uint32)
    module = warpgrind.load(RACE, tools="racecheck")
    with pytest.raises(warpgrind.FindingError) as caught:
        module.kernel[4, 1](word)
    finding, = caught.value.report.findings
    assert finding.kind == "data-race" and finding.place.line == finding.other_place.line
    assert "error[data-race]" in str(caught.value) and "<pre" in finding._repr_html_()
    quiet = module.with_options(raises=False)
    assert not quiet.kernel[4, 1](word).is_clean
    assert warpgrind.load(RACE).kernel[4, 1](word).is_clean


def test_a_fault_leaves_what_was_written(saxpy):
    x, y = np.zeros(4, np.float32), np.ones(4, np.float32)
    with pytest.raises(warpgrind.FindingError) as caught:
        saxpy.kernel[1, 8](x, y, 1.0)
    finding = caught.value.report.findings[0]
    assert finding.kind == "out-of-bounds" and finding.fault and "x" in finding.text
    # The device goes on, as another process would.
    saxpy.kernel[1, 4](x, y, 1.0)


def test_arrays_on_the_device_stay_and_are_freed(saxpy):
    x = saxpy.array(np.zeros(4, np.float32), name="counter")
    for _ in range(3):
        saxpy.kernel[1, 4](x, np.ones(4, np.float32), 1.0)
    assert np.array_equal(np.asarray(x), np.full(4, 3, np.float32))
    x.set(7)
    assert x.numpy().tolist() == [7] * 4
    assert saxpy.array(3.5).numpy().shape == ()
    empty = saxpy.empty((0, 4))
    assert empty.numpy().shape == (0, 4)
    with pytest.raises(warpgrind.LaunchError, match="another module"):
        warpgrind.load(SAXPY).kernel[1, 4](x, x, 1.0)
    address = x.address
    del x
    gc.collect()
    with pytest.raises(warpgrind.FindingError) as caught:
        saxpy.kernel[1, 4](address, np.ones(4, np.float32), 1.0)
    assert caught.value.report.findings[0].kind in ("use-after-free", "out-of-bounds")


def test_variables_are_read_and_set():
    module = warpgrind.load(HEAD + """
.visible .global .align 4 .u32 total[2] = {5, 6};
.visible .entry k() {
    .reg .b64 %rd;
    mov.u64 %rd, total;
    red.global.add.u32 [%rd], 1;
    ret;
}
""")
    module.kernel[1, 32]()
    assert module.variable("total", np.uint32).tolist() == [37, 6]
    module.set_variable("total", np.array([1], np.uint32))
    assert module.variable("total", np.uint32).tolist() == [1, 6]
    with pytest.raises(warpgrind.LaunchError):
        module.set_variable("total", np.zeros(3, np.uint32))
    with pytest.raises(warpgrind.LaunchError):
        module.variable("totel")


def test_limits_end_a_kernel():
    with pytest.raises(warpgrind.FindingError) as caught:
        warpgrind.load(FOREVER, timeout=0.2).kernel[1, 1]()
    assert caught.value.report.outcome == "limit-reached"
    with pytest.raises(warpgrind.Error):
        warpgrind.load(FOREVER, timeout=-1.0)


def test_the_interpreter_goes_on_while_a_kernel_runs():
    module = warpgrind.load(FOREVER, timeout=1.0, raises=False)
    thread = threading.Thread(target=lambda: module.kernel[1, 1]())
    thread.start()
    ticks = 0
    while thread.is_alive():
        time.sleep(0.01)
        ticks += 1
    assert ticks > 20
    # A module that is dropped while it runs lives until the kernel ends.
    gone = weakref.ref(module)
    thread = threading.Thread(target=lambda kernel: kernel[1, 1](), args=(module.kernel,))
    thread.start()
    del module
    thread.join()
    gc.collect()
    assert gone() is None


def test_ctrl_c_stops_a_kernel():
    module = warpgrind.load(FOREVER)
    threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        module.kernel[1, 1]()
    assert time.monotonic() - began < 5


def test_threads_share_a_module(saxpy):
    x = saxpy.array(np.zeros(1, np.float32))

    def add():
        for _ in range(50):
            saxpy.kernel[1, 1](x, np.ones(1, np.float32), 1.0)

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert x.numpy()[0] == 200


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_has_the_module_too(saxpy):
    saxpy.kernel[1, 4](np.zeros(4, np.float32), np.ones(4, np.float32), 1.0)
    child = os.fork()
    if child == 0:
        x = np.zeros(4, np.float32)
        saxpy.kernel[1, 4](x, np.ones(4, np.float32), 1.0)
        os._exit(0 if x.all() else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_what_kernels_print_is_printed(capsys):
    module = warpgrind.load(HEAD + r"""
.global .b8 text[12] = {104, 105, 32, 37, 117, 10, 0, 0, 0, 0, 0, 0};
.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
.visible .entry k() {
    .local .align 8 .b8 frame[8];
    .reg .b32 %r<3>; .reg .b64 %rd<4>;
    mov.u64 %rd0, frame; cvta.local.u64 %rd1, %rd0;
    mov.u32 %r0, %tid.x; st.local.u32 [frame], %r0;
    mov.u64 %rd2, text; cvta.global.u64 %rd3, %rd2;
    { .param .b64 f; .param .b64 a; .param .b32 r;
      st.param.b64 [f], %rd3; st.param.b64 [a], %rd1;
      call (r), vprintf, (f, a); }
    ret;
}
""")
    report = module.kernel[1, 2]()
    assert report.output == capsys.readouterr().out == "hi 0\nhi 1\n"


def test_counters_measure():
    module = warpgrind.load(SAXPY, tools="counters")
    report = module.kernel[1, 32](np.zeros(32, np.float32), np.ones(32, np.float32), 1.0)
    assert report.metrics


def test_nothing_leaks(saxpy):
    def used():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    x, y = np.zeros(32, np.float32), np.zeros(32, np.float32)
    kernel = saxpy["saxpy"][1, 32]
    for _ in range(200):
        kernel(x, y, 1.0)
    before = used()
    for _ in range(2000):
        kernel(x, y, 1.0)
    assert used() - before < 4 << 20


def test_cuda_cpp_is_compiled_where_nvrtc_is():
    source = 'extern "C" __global__ void add(float* x, float by) { x[threadIdx.x] += by; }\n'
    if not warpgrind.nvrtc.is_installed():
        pytest.skip("NVRTC is not installed")
    module = warpgrind.compile(source)
    x = np.zeros(8, np.float32)
    module["add"][1, 8](x, 2.0)
    assert (x == 2).all()
    with pytest.raises(warpgrind.FindingError, match="kernel.cu:1"):
        module["add"][1, 16](x, 2.0)
    with pytest.raises(warpgrind.CompileError, match="error"):
        warpgrind.compile("__global__ void k( {")


ASYNCHRONOUS = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry hasty(.param .u64 from, .param .u64 to) {
    .shared .align 4 .b32 tile[32];
    .reg .b32 %t, %at, %value;
    .reg .b64 %source, %target, %offset;
    ld.param.u64 %source, [from];
    ld.param.u64 %target, [to];
    mov.u32 %t, %tid.x;
    mul.wide.u32 %offset, %t, 4;
    add.u64 %source, %source, %offset;
    add.u64 %target, %target, %offset;
    mov.u32 %at, tile;
    mad.lo.u32 %at, %t, 4, %at;
    cp.async.ca.shared.global [%at], [%source], 4;
    cp.async.commit_group;
    ld.shared.u32 %value, [%at];
    st.global.u32 [%target], %value;
    cp.async.wait_group 0;
    ret;
}
"""


def test_copies_may_be_late() -> None:
    source, results = np.arange(1, 33, dtype=np.uint32), {}
    for asynchrony in ("eager", "late"):
        out = np.zeros(32, np.uint32)
        warpgrind.load(ASYNCHRONOUS, asynchrony=asynchrony)["hasty"][1, 32](source, out)
        results[asynchrony] = out
    assert (results["eager"] == source).all() and not results["late"].any()
    with pytest.raises(warpgrind.Error, match="`soon` is none of eager, late, random"):
        warpgrind.load(ASYNCHRONOUS, asynchrony="soon")
    with pytest.raises(warpgrind.Error, match="cannot be given with racecheck"):
        warpgrind.load(ASYNCHRONOUS, asynchrony="random", tools="racecheck")
