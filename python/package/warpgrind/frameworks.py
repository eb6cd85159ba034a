"""Kernels of Numba and Triton, taken by their PTX and called as there.

Nothing of these packages is imported: a kernel of Triton is what has PTX in ``asm``, one of Numba what has ``inspect_asm``.
"""

from __future__ import annotations

import enum
import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._native import Error
from .memory import DeviceArray, on_host

#: Makes the parameters that PTX declares of arguments as a framework takes them, their number and that of the blocks.
Convention = Callable[[Sequence[Any], int, int], list[Any]]


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
    convention = functools.partial(triton, scratch=getattr(metadata, "global_scratch_size", 0))
    return Taken(text.rstrip(b"\0"), convention, (32 * metadata.num_warps, metadata.shared))


def triton(arguments: Sequence[Any], parameters: int, blocks: int, scratch: int = 0) -> list[Any]:
    """Triton adds pointers to memory for scratch, of so many bytes a block, and of its profiler, which is not there."""
    missing = parameters - len(arguments)
    added: list[Any] = [0] * (missing if 0 < missing <= 2 else 0)
    if added and scratch:
        memory = np.zeros(blocks * scratch, np.uint8)
        # Nobody wants it back.
        memory.flags.writeable = False
        added[0] = memory
    return [*arguments, *added]


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


def numba(arguments: Sequence[Any], _: int, __: int) -> list[Any]:
    """Numba takes tuples and complex numbers apart; of an array it passes more than its address."""
    arrays: dict[int, tuple[Any, Any]] = {}
    return [word for argument in arguments for word in _words(argument, arrays)]


def _words(argument: Any, arrays: dict[int, tuple[Any, Any]]) -> Iterator[Any]:
    """The parameters that an argument is; of arrays that were seen, with what they were made into."""
    if isinstance(argument, tuple):
        for part in argument:
            yield from _words(part, arrays)
    elif isinstance(argument, enum.Enum):
        yield argument.value
    elif isinstance(argument, (complex, np.complexfloating)):
        yield from (argument.real, argument.imag)
    elif isinstance(argument, (np.datetime64, np.timedelta64)):
        yield argument.view(np.int64)
    elif isinstance(argument, np.void):
        # A record lies in memory, as an array of no extent does.
        yield np.asarray(argument)
    elif isinstance(argument, np.generic):
        yield argument
    else:
        array = argument if isinstance(argument, (DeviceArray, np.ndarray)) else on_host(argument, "an argument")
        if array is None:
            yield argument
        else:
            yield from _array(arrays.setdefault(id(argument), (argument, array))[1], arrays)


def _array(array: DeviceArray | np.ndarray, arrays: dict[int, tuple[Any, Any]]) -> Iterator[Any]:
    """An array is its owner and its parent, its number of elements, their size, address, extents and strides."""
    data: Any = array
    size, itemsize = math.prod(array.shape), array.dtype.itemsize
    strides = tuple(step * itemsize for step in _strides(array.shape))
    if isinstance(array, np.ndarray) and array.flags.f_contiguous and not array.flags.c_contiguous:
        # A kernel may be compiled for this order, which its transposed view keeps on the device.
        data, strides = arrays.setdefault(~id(array), (array, array.T))[1], array.strides
    yield from (0, 0, size, itemsize, data, *array.shape, *strides)


def _strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Elements between neighbours along each axis, of an array whose last axis lies together."""
    steps = [1]
    for extent in reversed(shape[1:]):
        steps.append(steps[-1] * extent)
    return tuple(reversed(steps)) if shape else ()


#: The conventions that :func:`load` knows by name.
CONVENTIONS: dict[str, Convention] = {"numba": numba, "triton": triton}
