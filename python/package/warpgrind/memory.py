"""Memory of a simulated device that outlives a launch."""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ._native import LaunchError

if TYPE_CHECKING:
    from ._native import Device

#: DLPack's numbers of the host's memory, and of memory of devices that the host reaches: pinned, and managed.
CPU = 1
HOST = (CPU, 3, 11, 13)


def as_bytes(array: np.ndarray) -> np.ndarray:
    """The bytes of an array whose elements lie one after the other, without a copy."""
    return array.reshape(-1).view(np.uint8)


def check_type(dtype: np.dtype, what: str) -> None:
    """Refuses types of elements that a device does not have."""
    if dtype.hasobject:
        raise LaunchError(f"{what} is an array of Python objects, which no device can hold")
    if not dtype.isnative:
        raise LaunchError(f"{what} has numbers of the other byte order\nhelp: `array.astype(array.dtype.newbyteorder('='))`")


def to_device(device: Device, address: int, array: np.ndarray) -> None:
    """Writes the elements of an array to device memory."""
    if array.nbytes:
        device.write(address, as_bytes(array))


def from_device(device: Device, address: int, array: np.ndarray) -> None:
    """Reads device memory into an array."""
    if array.nbytes:
        device.read(address, as_bytes(array))


class DeviceArray:
    """An array in the memory of a module's device. Kernels take it as its address; it is freed with its last reference.

    >>> import numpy as np, warpgrind
    >>> module = warpgrind.load('''
    ...     .version 8.0
    ...     .target sm_90
    ...     .address_size 64
    ...     .visible .entry count(.param .u64 p) {
    ...         .reg .b64 %rd;
    ...         ld.param.u64 %rd, [p];
    ...         red.global.add.u32 [%rd], 1;
    ...         ret;
    ...     }''')
    >>> counter = module.array(np.zeros(1, np.uint32))
    >>> for _ in range(3):
    ...     _ = module["count"][2, 32](counter)
    >>> counter.numpy()
    array([192], dtype=uint32)
    """

    #: Whether what :meth:`numpy` gives is a copy.
    _copied = True

    def __init__(self, device: Device, shape: Any, dtype: Any, name: str = "array") -> None:
        self.dtype = np.dtype(dtype)
        check_type(self.dtype, f"`{name}`")
        self.shape: tuple[int, ...] = tuple(int(extent) for extent in np.atleast_1d(shape)) if shape != () else ()
        self.nbytes = math.prod(self.shape) * self.dtype.itemsize
        address = device.allocate(self.nbytes, name)
        self._keep(device, address, device.free)

    def _keep(self, device: Device, address: int, free: Callable[[int], None]) -> None:
        self._device = device
        #: Where it lies on the device.
        self.address = address
        self._free = weakref.finalize(self, free, address)
        self._free.atexit = False

    def set(self, values: Any) -> DeviceArray:
        """Copies values to it, which numpy brings to its type and shape."""
        whole = np.ascontiguousarray(np.broadcast_to(np.asarray(values, dtype=self.dtype), self.shape))
        to_device(self._device, self.address, whole)
        return self

    def numpy(self) -> np.ndarray:
        """A copy of what it holds."""
        values = np.empty(self.shape, self.dtype)
        from_device(self._device, self.address, values)
        return values

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False and (self._copied or dtype is not None and np.dtype(dtype) != self.dtype):
            raise ValueError("device memory and other types cannot be seen without a copy")
        values = self._values(copy)
        return values if dtype is None else values.astype(dtype, copy=False)

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """What it holds, in memory of the host: other packages cannot reach the device's."""
        if copy is False and self._copied:
            raise BufferError("device memory cannot be seen without a copy")
        return dlpack(self._values(copy), stream, max_version, dl_device)

    def _values(self, copy: bool | None) -> np.ndarray:
        """What it holds, in memory that nobody else has if that is asked for."""
        values = self.numpy()
        return values.copy() if copy and not self._copied else values

    def __dlpack_device__(self) -> tuple[int, int]:
        return (CPU, 0)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.dtype}{list(self.shape)} at {self.address:#x}>"


class MappedArray(DeviceArray):
    """An array of numpy's whose memory kernels have as it is: nothing is copied, and what they write is in the array at once.

    Python may use :attr:`host` at any time, as memory that CUDA maps; while a kernel writes to it, what is read is old or
    new. It lies where numpy put it: aligned less than memory of a device's, and with no gap behind it in which an access
    out of bounds would be seen if another mapped array follows.

    >>> import numpy as np, warpgrind
    >>> module = warpgrind.load('''
    ...     .version 8.0
    ...     .target sm_90
    ...     .address_size 64
    ...     .visible .entry count(.param .u64 p) {
    ...         .reg .b64 %rd;
    ...         ld.param.u64 %rd, [p];
    ...         red.global.add.u32 [%rd], 1;
    ...         ret;
    ...     }''')
    >>> counter = np.zeros(1, np.uint32)
    >>> mapped = module.mapped(counter)
    >>> _ = module["count"][2, 32](mapped)
    >>> counter
    array([64], dtype=uint32)
    """

    _copied = False

    def __init__(self, device: Device, host: np.ndarray, name: str = "array") -> None:
        if not host.flags.c_contiguous:
            raise LaunchError(
                "the array cannot be mapped: its elements do not lie one after the other\n"
                "help: `module.array` copies it to the device"
            )
        check_type(host.dtype, f"`{name}`")
        #: The array.
        self.host = host
        self.dtype, self.shape, self.nbytes = host.dtype, host.shape, host.nbytes
        self._keep(device, device.adopt(as_bytes(host), name), device.release)

    def set(self, values: Any) -> MappedArray:
        """Sets the array."""
        self.host[...] = values
        return self

    def numpy(self) -> np.ndarray:
        """The array itself."""
        return self.host


def dlpack(array: np.ndarray, stream: Any, max_version: Any, dl_device: Any) -> Any:
    """What numpy exports; older ones take fewer words."""
    words = {"stream": stream, "max_version": max_version, "dl_device": dl_device}
    return array.__dlpack__(**{name: word for name, word in words.items() if word is not None})


def on_host(value: Any, what: str) -> np.ndarray | None:
    """The memory of an array of another package, which is not copied; ``None`` for what is no array."""
    if not hasattr(value, "__dlpack__") and not hasattr(value, "__cuda_array_interface__"):
        return None
    device = value.__dlpack_device__()[0] if hasattr(value, "__dlpack_device__") else None
    if device not in HOST:
        raise LaunchError(
            f"{what} is a {type(value).__name__} on another device, which the simulator does not reach\n"
            "help: copy it to the host, or run the program under `warpgrind exec`"
        )
    array = np.from_dlpack(value)
    if not array.flags.writeable and hasattr(value, "__array__"):
        # Before its version 1 DLPack did not say what may be written to, and numpy then says no.
        other = np.asarray(value)
        if other.flags.writeable and np.shares_memory(other, array):
            return other
    return array
