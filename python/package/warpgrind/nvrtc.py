"""CUDA C++ to PTX through NVIDIA's runtime compiler, where it is installed."""

from __future__ import annotations

import ctypes
import glob
import os
import site
import sys
from collections.abc import Sequence
from typing import Any

from ._native import Error
from .module import Module, load


class CompileError(Error):
    """CUDA C++ that does not compile, with the compiler's messages."""


def compile(
    source: str,
    *,
    arch: str = "sm_90",
    options: Sequence[str] = (),
    name: str = "kernel.cu",
    **load_options: Any,
) -> Module:
    """Compiles CUDA C++ with NVRTC and loads its PTX; options of :func:`load` are handed on.

    NVRTC is looked for in the packages ``nvidia-cuda-nvrtc`` of PyPI, in ``CUDA_HOME``, and where the system looks for
    libraries. Findings name the lines of ``source`` by ``name``.
    """
    return load(ptx(source, arch=arch, options=options, name=name), **load_options)


def is_installed() -> bool:
    """Whether NVRTC is there."""
    try:
        _library()
    except CompileError:
        return False
    return True


def ptx(source: str, *, arch: str = "sm_90", options: Sequence[str] = (), name: str = "kernel.cu") -> bytes:
    """The PTX of CUDA C++."""
    library = _library()
    arguments = [f"--gpu-architecture=compute_{arch.removeprefix('sm_').removeprefix('compute_')}", "-lineinfo"]
    arguments += [f"--include-path={folder}" for folder in _headers()] + list(options)
    program = ctypes.c_void_p()
    _check(
        library,
        library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), name.encode(), 0, None, None),
    )
    try:
        words = (ctypes.c_char_p * len(arguments))(*(argument.encode() for argument in arguments))
        if library.nvrtcCompileProgram(program, len(arguments), words):
            raise CompileError(_text(library, program, "ProgramLog").decode(errors="replace"))
        return _text(library, program, "PTX").rstrip(b"\0")
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


def _text(library: ctypes.CDLL, program: ctypes.c_void_p, what: str) -> bytes:
    size = ctypes.c_size_t()
    _check(library, getattr(library, f"nvrtcGet{what}Size")(program, ctypes.byref(size)))
    text = ctypes.create_string_buffer(size.value)
    _check(library, getattr(library, f"nvrtcGet{what}")(program, text))
    return text.value


def _check(library: ctypes.CDLL, status: int) -> None:
    if status:
        library.nvrtcGetErrorString.restype = ctypes.c_char_p
        raise CompileError(f"NVRTC: {library.nvrtcGetErrorString(status).decode()}")


def _folders() -> list[str]:
    """Where packages and toolkits keep NVRTC: the folder above ``lib`` and ``include``."""
    packages = [folder for folder in [*sys.path, *site.getsitepackages(), site.getusersitepackages()] if folder]
    found = [path for folder in packages for path in glob.glob(os.path.join(folder, "nvidia", "*"))]
    homes = [os.environ.get(variable) for variable in ("CUDA_HOME", "CUDA_PATH")] + ["/usr/local/cuda"]
    return found + [home for home in homes if home]


def _library() -> ctypes.CDLL:
    patterns = [os.path.join(folder, lib, "libnvrtc.so*") for folder in _folders() for lib in ("lib", "lib64")]
    files = [file for pattern in patterns for file in sorted(glob.glob(pattern), reverse=True) if ".alt." not in file]
    for file in [*files, "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"]:
        try:
            # NVRTC opens it by its name alone, and finds it if it is there already.
            for builtins in glob.glob(os.path.join(os.path.dirname(file), "libnvrtc-builtins.so*")):
                ctypes.CDLL(builtins)
            return ctypes.CDLL(file)
        except OSError:
            continue
    raise CompileError("NVRTC is not found\nhelp: `pip install nvidia-cuda-nvrtc`, or set CUDA_HOME")


def _headers() -> list[str]:
    return [path for path in (os.path.join(folder, "include") for folder in _folders()) if os.path.isdir(path)]
