"""Kernels of Numba and Triton, taken by their PTX and called as there.

Nothing of these packages is imported: a kernel of Triton is what has PTX in ``asm``, one of Numba what has ``inspect_asm``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._native import Error, LaunchError
from .memory import DeviceArray

#: Makes the parameters that PTX declares, whose number is given, of arguments as a framework takes them.
Convention = Callable[[Sequence[Any], int], list[Any]]


@dataclass(frozen=True)
class Taken:
    """PTX of a framework, and how its kernels are called."""

    ptx: bytes
    convention: Convention
    #: Threads a block and bytes of shared memory, where the framework decides them.
    shape: tuple[int, int] | None = None


def taken(source: Any) -> Taken | None:
    """What a kernel of a framework is; ``None`` for anything else."""
    asm = getattr(source, "asm", None)
    if isinstance(asm, Mapping) and "ptx" in asm:
        return _triton(source, asm["ptx"])
    inspect = getattr(source, "inspect_asm", None)
    return Taken(_numba(inspect), numba) if callable(inspect) else None


def _triton(kernel: Any, ptx: str | bytes) -> Taken:
    metadata = kernel.metadata
    blocks = getattr(metadata, "num_ctas", 1)
    if blocks != 1:
        raise Error(f"the Triton kernel has num_ctas={blocks}, of which the launch is not known\nhelp: `load` its PTX")
    text = ptx.encode() if isinstance(ptx, str) else bytes(ptx)
    return Taken(text.rstrip(b"\0"), triton, (32 * metadata.num_warps, metadata.shared))


def triton(arguments: Sequence[Any], parameters: int) -> list[Any]:
    """Triton adds pointers to memory for scratch, of a grid and of its profiler, which kernels without it do not use."""
    missing = parameters - len(arguments)
    return [*arguments, *[0] * (missing if 0 < missing <= 2 else 0)]


#: What compiles a kernel of Numba without a device.
ADVICE = 'help: `load(numba.cuda.compile_ptx(function, signature, cc=(9, 0))[0], convention="numba")`'


def _numba(inspect: Callable[[], Any]) -> bytes:
    try:
        texts = inspect()
    except Exception as error:
        # Numba asks a driver which device to compile for.
        said = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise Error(f"Numba gives no PTX of the kernel: {said}\n{ADVICE}") from error
    if isinstance(texts, Mapping):
        if len(texts) != 1:
            every = "; ".join(str(signature) for signature in texts) or "none"
            raise Error(f"the Numba kernel was compiled for {len(texts)} signatures: {every}\n{ADVICE}")
        texts = next(iter(texts.values()))
    return texts.encode() if isinstance(texts, str) else bytes(texts)


def numba(arguments: Sequence[Any], _: int) -> list[Any]:
    """Numba passes an array as its owner and its parent, its number of elements, their size, address, extents and strides."""
    columns: dict[int, np.ndarray] = {}
    flat: list[Any] = []
    for argument in arguments:
        data: DeviceArray | np.ndarray
        if isinstance(argument, DeviceArray):
            itemsize, data = argument.dtype.itemsize, argument
            size, strides = math.prod(argument.shape), tuple(step * itemsize for step in _strides(argument.shape))
        elif isinstance(argument, np.ndarray):
            size, itemsize, data = argument.size, argument.itemsize, argument
            strides = tuple(step * itemsize for step in _strides(argument.shape))
            if argument.flags.f_contiguous and not argument.flags.c_contiguous:
                # A kernel may be compiled for this order, which its transposed view keeps on the device.
                data, strides = columns.setdefault(id(argument), argument.T), argument.strides
        elif isinstance(argument, (tuple, list)):
            raise LaunchError("tuples as arguments of Numba kernels are not taken\nhelp: pass their elements as arrays")
        else:
            flat.append(argument)
            continue
        flat += [0, 0, size, itemsize, data, *argument.shape, *strides]
    return flat


def _strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Elements between neighbours along each axis, of an array whose last axis lies together."""
    steps = [1]
    for extent in reversed(shape[1:]):
        steps.append(steps[-1] * extent)
    return tuple(reversed(steps)) if shape else ()


#: The conventions that :func:`load` knows by name.
CONVENTIONS: dict[str, Convention] = {"numba": numba, "triton": triton}
