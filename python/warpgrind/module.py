"""PTX as a module, and its kernels as things to call."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ._native import Device, LaunchError
from .memory import DeviceArray, as_bytes
from .report import FindingError, Report

Extent = int | tuple[int, ...]

#: The arrays of a launch by identity: the array, its elements one after the other, its address on the device.
Placed = dict[int, tuple[np.ndarray, np.ndarray, int]]


def load(
    *sources: str | bytes | os.PathLike[str],
    tools: str | Iterable[str] = (),
    seed: int = 0,
    jobs: int = 0,
    timeout: float | None = None,
    max_instructions: int | None = None,
    contraction: bool = True,
    as_optimised: bool = False,
    count_memory: bool = False,
    raises: bool = True,
    source_root: str | os.PathLike[str] | None = None,
) -> Module:
    """Checks PTX and puts it on a simulated H200 of its own.

    A source is PTX as text or bytes, or a path to a file of it; several are linked by name.

    tools: checks beyond those of every access: ``racecheck``, ``initcheck``, ``synccheck``, or ``counters``.
    seed: chooses the schedule; 0 is round robin. With one job one seed gives one schedule.
    jobs: worker threads; 0 takes one a core.
    timeout, max_instructions: end a launch after these seconds, or warp instructions.
    contraction, as_optimised: whether sums of products are contracted as NVIDIA's compiler does, and whether other
        rewrites of its optimiser that leave the manual are followed.
    count_memory: whether memory traffic is counted in ``Report.stats``.
    raises: whether findings are raised as :class:`FindingError`; else they are in the report alone.
    source_root: folder that paths of CUDA sources in findings are relative to.

    Raises :class:`PtxError` with every mistake at its place.
    """
    return Module(
        sources,
        tools=[tools] if isinstance(tools, str) else list(tools),
        seed=seed,
        jobs=jobs,
        timeout=timeout,
        max_instructions=max_instructions,
        contraction=contraction,
        as_optimised=as_optimised,
        count_memory=count_memory,
        raises=raises,
        source_root=source_root,
    )


class Module(Mapping[str, "Kernel"]):
    """Checked and linked PTX on a device: its kernels by name. Variables and arrays on it keep what launches leave."""

    def __init__(self, sources: Iterable[Any], *, raises: bool, **options: Any) -> None:
        self._sources = tuple(sources)
        self._options = options
        self._raises = raises
        texts, files = [], []
        for source in self._sources:
            if isinstance(source, bytes):
                texts.append((f"<ptx {len(texts)}>" if texts else "<ptx>", source))
            elif isinstance(source, str) and ("\n" in source or ".version" in source):
                texts.append((f"<ptx {len(texts)}>" if texts else "<ptx>", source.encode()))
            else:
                files.append(os.fspath(source))
        self._device = Device(texts, files, **options)
        #: The declared parameters of each kernel, by its PTX name.
        self._parameters = {name: parameters for name, _, parameters in self._device.kernels}

    def with_options(self, **options: Any) -> Module:
        """The same PTX with other options, on a device of its own."""
        raises = options.pop("raises", self._raises)
        tools = options.get("tools")
        if isinstance(tools, str):
            options["tools"] = [tools]
        return Module(self._sources, raises=raises, **{**self._options, **options})

    def __getitem__(self, name: str) -> Kernel:
        """The kernel of this PTX or C++ name."""
        try:
            return Kernel(self, self._device.kernel(name))
        except LaunchError as error:
            raise KeyError(str(error)) from None

    def __iter__(self) -> Any:
        return iter(self._parameters)

    def __len__(self) -> int:
        return len(self._parameters)

    @property
    def kernel(self) -> Kernel:
        """The only kernel there is."""
        return Kernel(self, self._device.kernel())

    @property
    def warnings(self) -> list[str]:
        """What may be wrong with the PTX."""
        return self._device.warnings

    def array(self, values: Any, dtype: Any = None, name: str = "array") -> DeviceArray:
        """An array on the device that holds these values; findings call it by ``name``."""
        values = np.asarray(values, dtype=dtype)
        return DeviceArray(self._device, values.shape, values.dtype, name).set(values)

    def empty(self, shape: Any, dtype: Any = np.float32, name: str = "array") -> DeviceArray:
        """An array on the device that nothing was written to."""
        return DeviceArray(self._device, shape, dtype, name)

    def variable(self, name: str, dtype: Any = np.uint8) -> np.ndarray:
        """A copy of a ``.global`` or ``.const`` variable."""
        address, size = self._device.variable(name)
        values = np.empty(size, np.uint8)
        if size:
            self._device.read(address, values)
        return values.view(dtype)

    def set_variable(self, name: str, values: Any) -> None:
        """Sets a ``.global`` or ``.const`` variable from its beginning."""
        address, size = self._device.variable(name)
        values = np.ascontiguousarray(values)
        if values.nbytes > size:
            raise LaunchError(f"{values.nbytes} bytes do not fit into `{name}`, which has {size}")
        if values.nbytes:
            self._device.write(address, as_bytes(values))

    def __repr__(self) -> str:
        return f"<Module of {', '.join(self) or 'no kernel'}>"


class Kernel:
    """A kernel of a module. ``kernel[grid, block, shared](arguments…)`` launches it."""

    def __init__(self, module: Module, name: str) -> None:
        self.module = module
        #: Its PTX name.
        self.name = name

    @property
    def parameters(self) -> list[str]:
        """As they are declared in PTX."""
        return self.module._parameters[self.name]

    def __getitem__(self, shape: Any) -> Launcher:
        """Blocks, threads a block, and, if wanted, bytes of dynamic shared memory. An extent is a number or up to three."""
        parts = shape if isinstance(shape, tuple) else (shape,)
        if not 2 <= len(parts) <= 3:
            raise LaunchError("kernel[grid, block] or kernel[grid, block, shared_bytes]")
        return Launcher(self, *parts)

    def launch(
        self,
        grid: Extent,
        block: Extent,
        *arguments: Any,
        shared: int = 0,
        cluster: Extent | None = None,
        cooperative: bool = False,
    ) -> Report:
        """Launches it and waits for its end.

        numpy arrays are copied to the device, and back if they can be written to; the same array is there once. Numbers
        take the type of the parameter; numpy's numbers must have its size. Bytes and structured scalars are structures.
        """
        device = self.module._device
        placed: Placed = {}
        try:
            converted = [self._argument(at, of, placed) for at, of in enumerate(arguments)]
            native = device.launch(
                self.name,
                extents(grid),
                extents(block),
                shared,
                None if cluster is None else extents(cluster),
                cooperative,
                converted,
            )
            for array, whole, address in placed.values():
                if array.flags.writeable and array.nbytes:
                    device.read(address, as_bytes(whole))
                    if whole is not array:
                        array[...] = whole
        finally:
            for _, _, address in placed.values():
                device.free(address)
        report = Report(native)
        if native.output:
            sys.stdout.write(report.output)
        if self.module._raises and not report.is_clean:
            raise FindingError(report)
        return report

    def _argument(self, at: int, value: Any, placed: Placed) -> Any:
        if isinstance(value, DeviceArray):
            if value._device is not self.module._device:
                raise LaunchError(f"argument {at} of {self.name} lies on the device of another module")
            return value.address
        if isinstance(value, np.ndarray):
            if id(value) not in placed:
                placed[id(value)] = self._place(at, value, placed)
            return placed[id(value)][2]
        if isinstance(value, (bool, int)):
            return str(int(value))
        if isinstance(value, float):
            return repr(value)
        if isinstance(value, (bytes, bytearray)):
            return bytes(value)
        if isinstance(value, np.generic):
            if value.dtype.fields or value.dtype.itemsize not in (1, 2, 4, 8) or value.dtype.kind in "cSUV":
                return value.tobytes()
            return (value.dtype.name, int.from_bytes(value.tobytes(), sys.byteorder))
        raise LaunchError(
            f"argument {at} of {self.name} is a {type(value).__name__}\n"
            "help: numbers, numpy arrays, arrays of the module and bytes are arguments"
        )

    def _place(self, at: int, array: np.ndarray, placed: Placed) -> tuple[np.ndarray, np.ndarray, int]:
        if array.dtype.hasobject:
            raise LaunchError(f"argument {at} of {self.name} is an array of Python objects, which no device can hold")
        for other, _, _ in placed.values():
            if np.may_share_memory(array, other) and (array.flags.writeable or other.flags.writeable):
                raise LaunchError(
                    f"argument {at} of {self.name} overlaps another array\n"
                    "help: each array is copied to the device; put the whole one there with `module.array`"
                )
        whole = np.ascontiguousarray(array).reshape(array.shape)
        declared = self.parameters
        name = declared[at].split(" ")[-1] if at < len(declared) else f"argument {at}"
        address = self.module._device.allocate(array.nbytes, name)
        if array.nbytes:
            self.module._device.write(address, as_bytes(whole))
        return array, whole, address

    def __repr__(self) -> str:
        return f"<Kernel {self.name}({', '.join(self.parameters)})>"


class Launcher:
    """A kernel with the shape of a launch."""

    def __init__(self, kernel: Kernel, grid: Extent, block: Extent, shared: int = 0) -> None:
        self.kernel, self.grid, self.block, self.shared = kernel, grid, block, shared

    def __call__(self, *arguments: Any, cluster: Extent | None = None, cooperative: bool = False) -> Report:
        """See :meth:`Kernel.launch`."""
        return self.kernel.launch(
            self.grid, self.block, *arguments, shared=self.shared, cluster=cluster, cooperative=cooperative
        )


def extents(of: Extent) -> tuple[int, int, int]:
    """One to three extents as three."""
    parts = tuple(int(part) for part in of) if isinstance(of, (tuple, list)) else (int(of),)
    if not 1 <= len(parts) <= 3 or any(not 0 < part < 1 << 32 for part in parts):
        raise LaunchError(f"{of!r} is no extent\nhelp: one to three numbers from 1 on")
    return parts + (1,) * (3 - len(parts))
