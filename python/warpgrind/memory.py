"""Memory of a simulated device that outlives a launch."""

from __future__ import annotations

import math
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ._native import Device


def as_bytes(array: np.ndarray) -> np.ndarray:
    """The bytes of an array whose elements lie one after the other, without a copy."""
    return array.reshape(-1).view(np.uint8)


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

    def __init__(self, device: Device, shape: Any, dtype: Any, name: str = "array") -> None:
        self.dtype = np.dtype(dtype)
        self.shape = tuple(int(extent) for extent in np.atleast_1d(shape)) if shape != () else ()
        self.nbytes = math.prod(self.shape) * self.dtype.itemsize
        self._device = device
        #: Where it lies on the device.
        self.address = device.allocate(self.nbytes, name)
        self._free = weakref.finalize(self, device.free, self.address)
        self._free.atexit = False

    def set(self, values: Any) -> DeviceArray:
        """Copies values to it, which numpy brings to its type and shape."""
        whole = np.ascontiguousarray(np.broadcast_to(np.asarray(values, dtype=self.dtype), self.shape))
        if self.nbytes:
            self._device.write(self.address, as_bytes(whole))
        return self

    def numpy(self) -> np.ndarray:
        """A copy of what it holds."""
        values = np.empty(self.shape, self.dtype)
        if self.nbytes:
            self._device.read(self.address, as_bytes(values))
        return values

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError("device memory cannot be seen without a copy")
        return self.numpy() if dtype is None else self.numpy().astype(dtype)

    def __repr__(self) -> str:
        return f"<DeviceArray {self.dtype}{list(self.shape)} at {self.address:#x}>"
