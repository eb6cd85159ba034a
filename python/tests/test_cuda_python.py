"""``cuda.bindings.runtime`` and what needs it under ``warpgrind exec``."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("cuda.bindings", reason="cuda-bindings is not installed")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "warpgrind", "exec", "--memory", "2G", "--", sys.executable]
    return subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=600)


SCRIPT = """
from cuda.bindings import runtime
status, count = runtime.cudaGetDeviceCount()
assert (int(status), count) == (0, 1)
status, address = runtime.cudaMalloc(64)
assert int(status) == 0
assert runtime.cudaMemset(address, 7, 64) == (runtime.cudaError_t.cudaSuccess,)
bytes_here = bytearray(64)
status, = runtime.cudaMemcpy(bytes_here, address, 64, runtime.cudaMemcpyKind.cudaMemcpyDeviceToHost)
assert int(status) == 0 and bytes_here == b"\\7" * 64
status, properties = runtime.cudaGetDeviceProperties(0)
assert properties.name == b"NVIDIA H200" and properties.multiProcessorCount == 132
status, = runtime.cudaDeviceSynchronize()
assert int(status) == 0
assert runtime.cudaGetErrorName(runtime.cudaError_t.cudaErrorInvalidValue)[1] == b"cudaErrorInvalidValue"
print("as expected")
"""


def test_a_script_that_knows_nothing_of_it(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    done = run("-m", "warpgrind.cuda_python", str(script))
    assert done.stdout == "as expected\n", done.stdout + done.stderr


def test_for_a_process_before_the_import() -> None:
    done = run("-c", "import warpgrind.cuda_python\nwarpgrind.cuda_python.enable()\n" + SCRIPT)
    assert done.stdout == "as expected\n", done.stdout + done.stderr
    late = run("-c", "import cuda.bindings.runtime, warpgrind.cuda_python\nwarpgrind.cuda_python.enable()")
    assert "RuntimeError: warpgrind: cuda.bindings.runtime is imported already" in late.stderr


def test_devices_of_cuda_core() -> None:
    pytest.importorskip("cuda.core", reason="cuda-core is not installed")
    done = run(
        "-c",
        "import warpgrind.cuda_python\n"
        "warpgrind.cuda_python.enable()\n"
        "from cuda.core import Device\n"
        "device = Device(0)\n"
        "device.set_current()\n"
        "device.sync()\n"
        "print(device.name, tuple(device.compute_capability))\n",
    )
    assert done.stdout == "NVIDIA H200 (9, 0)\n", done.stdout + done.stderr


def test_a_script_is_wanted() -> None:
    assert "usage: python -m warpgrind.cuda_python [-m MODULE | SCRIPT]" in run("-m", "warpgrind.cuda_python").stderr
