"""What programs get wrong: arrays of no use, kernels that fault, modules that go and processes that fork while a kernel runs."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pytest

import warpgrind
from kernels import FOREVER, HEAD, SAXPY


@pytest.fixture
def saxpy():
    return warpgrind.load(SAXPY)


@pytest.mark.parametrize(
    "array, why",
    [
        (np.array([None, "text"]), "Python objects"),
        (np.zeros(4, ">f4"), "other byte order"),
        (np.zeros(4, [("a", "<i4"), ("b", ">f4")]), "other byte order"),
    ],
)
def test_arrays_of_types_that_no_device_has(saxpy, array, why):
    y = np.ones(4, np.float32)
    with pytest.raises(warpgrind.LaunchError, match=why):
        saxpy.kernel[1, 4](array, y, 1.0)
    for put in (saxpy.array, saxpy.mapped):
        with pytest.raises(warpgrind.LaunchError, match=why):
            put(array)
    with pytest.raises(warpgrind.LaunchError, match=why):
        saxpy.empty(4, array.dtype)


def test_an_array_that_is_too_small_for_its_type_is_seen(saxpy):
    # Half of what the kernel takes it for.
    with pytest.raises(warpgrind.FindingError) as caught:
        saxpy.kernel[1, 8](np.zeros(8, np.float16), np.ones(8, np.float32), 1.0)
    finding = caught.value.report.findings[0]
    assert finding.kind == "out-of-bounds" and finding.count == 4


def test_arrays_whose_elements_share_memory_are_refused(saxpy):
    one = np.zeros(1, np.float32)
    shared = np.lib.stride_tricks.as_strided(one, (4,), (0,))
    with pytest.raises(warpgrind.LaunchError, match="share memory"):
        saxpy.kernel[1, 4](shared, np.ones(4, np.float32), 1.0)
    # What is only read may.
    x = np.zeros(4, np.float32)
    saxpy.kernel[1, 4](x, np.broadcast_to(np.float32(3), 4), 1.0)
    assert x.tolist() == [3] * 4


def test_an_array_lives_as_long_as_its_launch(saxpy):
    result = {}

    def launch():
        # Nobody else has them.
        result["report"] = saxpy.kernel[1, 64](np.zeros(64, np.float32), np.ones(64, np.float32), 1.0)

    thread = threading.Thread(target=launch)
    thread.start()
    gc.collect()
    thread.join()
    assert result["report"].is_clean


@pytest.mark.parametrize(
    "body, kind",
    [
        ("ld.global.u32 %r, [%rd];", "null-pointer"),
        ("trap;", "trap"),
        ("L: bra L;", "limit-reached"),
    ],
)
def test_kernels_that_fault_leave_a_device_that_works(body, kind):
    text = HEAD + f".visible .entry k(.param .u64 p) {{\n.reg .b32 %r; .reg .b64 %rd;\nld.param.u64 %rd, [p];\n{body}\nret;\n}}\n"
    module = warpgrind.load(text, SAXPY, timeout=1.0)
    for _ in range(2):
        with pytest.raises(warpgrind.FindingError) as caught:
            module["k"][2, 32](0)
        report = caught.value.report
        assert report.outcome != "completed"
        assert report.findings[0].kind == kind, report.text
        x = np.zeros(4, np.float32)
        module["saxpy"][1, 4](x, np.ones(4, np.float32), 1.0)
        assert x.all()


def test_a_module_that_is_dropped_while_it_runs_ends_its_kernel_first():
    module = warpgrind.load(FOREVER, timeout=1.0, raises=False)
    gone = weakref.ref(module)
    ended = []
    running = threading.Event()

    def run(kernel):
        running.set()
        ended.append(kernel[1, 1]().outcome)

    thread = threading.Thread(target=run, args=(module.kernel,))
    thread.start()
    running.wait()
    del module
    gc.collect()
    assert gone() is not None, "the kernel needs it"
    thread.join()
    del thread
    gc.collect()
    assert ended == ["limit-reached"] and gone() is None


def test_a_program_may_end_while_a_kernel_runs():
    program = (
        "import threading, time, warpgrind\n"
        f"module = warpgrind.load({FOREVER!r})\n"
        "threading.Thread(target=lambda: module.kernel[1, 1](), daemon=True).start()\n"
        "time.sleep(0.3)\n"
        "print('end')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stdout) == (0, "end\n"), done.stderr


def in_child(work):
    """What ``work`` says in a forked process."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        # A child that hangs ends.
        signal.alarm(20)
        try:
            said = work()
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.write(write, said.encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        said = pipe.read().decode()
    assert os.waitpid(child, 0)[1] == 0
    return said


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_process_may_fork_while_a_kernel_runs(saxpy):
    x = np.zeros(4, np.float32)
    saxpy.kernel[1, 4](x, np.ones(4, np.float32), 1.0)
    busy = warpgrind.load(FOREVER, timeout=2.0, raises=False)
    thread = threading.Thread(target=lambda: busy.kernel[1, 1]())
    thread.start()
    time.sleep(0.3)

    def launch(module):
        x = np.zeros(4, np.float32)
        module.kernel[1, 4](x, np.ones(4, np.float32), 1.0)
        return str(x.tolist())

    # Nobody ends what the parent's thread began; other modules, and new ones, work.
    assert "forked while a kernel ran" in in_child(lambda: repr(busy.kernel[1, 1]()))
    assert in_child(lambda: launch(saxpy)) == "[1.0, 1.0, 1.0, 1.0]"
    assert in_child(lambda: launch(warpgrind.load(SAXPY))) == "[1.0, 1.0, 1.0, 1.0]"
    thread.join()


def test_a_signal_handler_may_launch(saxpy):
    """A handler runs while the thread waits for a kernel, of the same module, too."""
    module = warpgrind.load(FOREVER, SAXPY, timeout=1.0, raises=False)
    seen = []

    def handler(*_):
        for of in (saxpy, module):
            x = np.zeros(4, np.float32)
            of["saxpy"][1, 4](x, np.ones(4, np.float32), 1.0)
            seen.append(x.all())

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGUSR1)).start()
        assert module["forever"][1, 1]().outcome == "limit-reached"
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert seen == [True, True]


def test_ctrl_c_while_another_thread_has_the_module():
    module = warpgrind.load(FOREVER, timeout=3.0, raises=False)
    thread = threading.Thread(target=lambda: module.kernel[1, 1]())
    thread.start()
    time.sleep(0.2)
    threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        module.kernel[1, 1]()
    assert time.monotonic() - began < 2
    thread.join()
