"""PTX as a module, and its kernels as things to call."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ._native import Device, LaunchError, Plan
from .compare import buffer
from .debugger import Debugger
from .frameworks import CONVENTIONS, Convention, taken
from .memory import DeviceArray, MappedArray, check_type, from_device, on_host, to_device
from .profile import Profile
from .report import FindingError, Report

if TYPE_CHECKING:
    from ._native import Request

Extent = int | tuple[int, ...]

#: The arrays of a launch by identity: the argument, its array, the elements one after the other, the address on the device.
Placed = dict[int, tuple[Any, np.ndarray, np.ndarray, int]]


def load(
    *sources: str | bytes | os.PathLike[str] | Any,
    tools: str | Iterable[str] = (),
    seed: int = 0,
    asynchrony: str = "eager",
    jobs: int = 0,
    timeout: float | None = None,
    max_instructions: int | None = None,
    contraction: bool = True,
    as_optimised: bool = False,
    count_memory: bool = False,
    raises: bool = True,
    source_root: str | os.PathLike[str] | None = None,
    convention: str | None = None,
) -> Module:
    """Checks PTX and puts it on a simulated H200 of its own.

    A source is PTX as text or bytes, or a path to a file of it; several are linked by name. A kernel that Triton compiled,
    or Numba for one signature, is one, too, and is called with the arguments that it takes there; Triton's without a block
    (``module.kernel[grid](…)``).

    tools: checks beyond those of every access: ``racecheck``, ``initcheck``, ``synccheck``, or ``counters``.
    seed: chooses the schedule; 0 is round robin. With one job one seed gives one schedule.
    asynchrony: when asynchronous copies and stores are done: ``eager``, where they are issued, ``late``, as late as the waits
        for them allow, or ``random``, at times that follow from the seed.
    jobs: worker threads; 0 takes one a core.
    timeout, max_instructions: end a launch after these seconds, or warp instructions.
    contraction, as_optimised: whether sums of products are contracted as NVIDIA's compiler does, and whether other
        rewrites of its optimiser that leave the manual are followed.
    count_memory: whether memory traffic is counted in ``Report.stats``.
    raises: whether findings are raised as :class:`FindingError`; else they are in the report alone.
    source_root: folder that paths of CUDA sources in findings are relative to.
    convention: ``numba`` or ``triton``, if PTX of theirs is given as such.

    Raises :class:`PtxError` with every mistake at its place.
    """
    return Module(
        sources,
        tools=[tools] if isinstance(tools, str) else list(tools),
        seed=seed,
        asynchrony=asynchrony,
        jobs=jobs,
        timeout=timeout,
        max_instructions=max_instructions,
        contraction=contraction,
        as_optimised=as_optimised,
        count_memory=count_memory,
        raises=raises,
        source_root=source_root,
        convention=convention,
    )


class Module(Mapping[str, "Kernel"]):
    """Checked and linked PTX on a device: its kernels by name. Variables and arrays on it keep what launches leave."""

    def __init__(self, sources: Iterable[Any], *, raises: bool, convention: str | None = None, **options: Any) -> None:
        self._sources = tuple(sources)
        self._options = options
        self._raises = raises
        self._convention_name = convention
        #: What makes parameters of arguments, and the block that a framework decided.
        self._convention: Convention | None = None
        self._shape: tuple[int, int] | None = None
        if convention is not None:
            if convention not in CONVENTIONS:
                raise LaunchError(f"there is no convention `{convention}`\nhelp: {' or '.join(CONVENTIONS)}")
            self._convention = CONVENTIONS[convention]
        texts: list[tuple[str, bytes]] = []
        files = []
        for source in self._sources:
            of = taken(source)
            text: bytes | None = None
            if of is not None:
                text = of.ptx
                self._convention, self._shape = of.convention, of.shape
            elif isinstance(source, bytes):
                text = source
            elif isinstance(source, str) and ("\n" in source or ".version" in source):
                text = source.encode()
            if text is None:
                files.append(os.fspath(source))
            else:
                texts.append((f"<ptx {len(texts)}>" if texts else "<ptx>", text))
        self._device = Device(texts, files, **options)
        #: The declared parameters of each kernel, by its PTX name.
        self._parameters = {name: parameters for name, _, parameters in self._device.kernels}

    def with_options(self, **options: Any) -> Module:
        """The same PTX with other options, on a device of its own."""
        raises = options.pop("raises", self._raises)
        tools = options.get("tools")
        if isinstance(tools, str):
            options["tools"] = [tools]
        convention = options.pop("convention", self._convention_name)
        return Module(self._sources, raises=raises, convention=convention, **{**self._options, **options})

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

    def mapped(self, array: np.ndarray, name: str = "array") -> MappedArray:
        """A numpy array whose memory kernels have as it is: nothing is copied. See :class:`MappedArray`."""
        return MappedArray(self._device, array, name)

    def variable(self, name: str, dtype: Any = np.uint8) -> np.ndarray:
        """A copy of a ``.global`` or ``.const`` variable."""
        address, size = self._device.variable(name)
        values = np.empty(size, np.uint8)
        from_device(self._device, address, values)
        return values.view(dtype)

    def set_variable(self, name: str, values: Any) -> None:
        """Sets a ``.global`` or ``.const`` variable from its beginning."""
        address, size = self._device.variable(name)
        values = np.ascontiguousarray(values)
        if values.nbytes > size:
            raise LaunchError(f"{values.nbytes} bytes do not fit into `{name}`, which has {size}")
        to_device(self._device, address, values)

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
        """Blocks, threads a block, and, if wanted, bytes of dynamic shared memory. An extent is a number or up to three.

        Of a kernel whose framework decides the rest it is blocks alone.
        """
        if self.module._shape is not None:
            return Launcher(self, shape, *self.module._shape)
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
        profile: bool = False,
    ) -> Report:
        """Launches it and waits for its end; with ``profile`` its costs are in :attr:`Report.profile`.

        numpy arrays, and arrays of other packages that have ``__dlpack__`` and lie on the host, are copied to the device, and
        back if they can be written to; the same array is there once. Arrays of the module (:meth:`Module.array`,
        :meth:`Module.mapped`) are there already. Numbers take the type of the parameter; numpy's numbers must have its
        size. Bytes and structured scalars are structures.
        """
        device = self.module._device
        placed: Placed = {}
        try:
            converted = [self._argument(at, of, placed) for at, of in enumerate(self._flat(arguments, grid))]
            native = device.launch(self._request(grid, block, shared, cluster, cooperative, converted), profile)
            for _, array, whole, address in placed.values():
                if array.flags.writeable:
                    from_device(device, address, whole)
                    if whole is not array:
                        array[...] = whole
        finally:
            for _, _, _, address in placed.values():
                device.free(address)
        report = Report(native)
        if native.output:
            sys.stdout.write(report.output)
        if self.module._raises and not report.is_clean:
            raise FindingError(report)
        return report

    def profile(
        self,
        grid: Extent,
        block: Extent,
        *arguments: Any,
        shared: int = 0,
        cluster: Extent | None = None,
        cooperative: bool = False,
    ) -> Profile:
        """Launches it and says what that costs, by Nsight Compute's names: accesses, conflicts, occupancy, instructions.

        >>> import numpy as np, warpgrind
        >>> kernel = warpgrind.load("testdata/ptx/sm_90-lineinfo/saxpy.ptx")["saxpy"]
        >>> x, y = np.arange(256, dtype=np.float32), np.ones(256, np.float32)
        >>> profile = kernel.profile(1, 256, 256, 2.0, x, y)
        >>> profile["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"]
        64.0
        """
        report = self.launch(
            grid, block, *arguments, shared=shared, cluster=cluster, cooperative=cooperative, profile=True
        )
        assert report.profile is not None
        return report.profile

    def plan(
        self,
        grid: Extent,
        block: Extent,
        *arguments: Any,
        shared: int = 0,
        cluster: Extent | None = None,
        cooperative: bool = False,
    ) -> Plan:
        """The launch with what its arrays hold now, for :func:`compare` and :func:`record`; nothing runs.

        Arrays are named as the parameters that they are first given for. Those on the device are taken as they are.
        """
        buffers: dict[int, Any] = {}
        converted = []
        for at, value in enumerate(self._flat(arguments, grid)):
            array = value.numpy() if isinstance(value, DeviceArray) else self._host(at, value)
            if array is None:
                converted.append(self._scalar(at, value))
                continue
            if id(value) not in buffers:
                self._refuse_overlap(at, array, [of for _, of, _ in buffers.values()])
                buffers[id(value)] = value, array, buffer(self._parameter(at), array)
            converted.append((buffers[id(value)][2][0],))
        request = self._request(grid, block, shared, cluster, cooperative, converted)
        return self.module._device.plan(request, [of for _, _, of in buffers.values()])

    def debug(
        self,
        grid: Extent,
        block: Extent,
        *arguments: Any,
        shared: int = 0,
        cluster: Extent | None = None,
        cooperative: bool = False,
        tools: str | Iterable[str] | None = None,
    ) -> Debugger:
        """The launch under a debugger that goes back, with what its arrays hold now; they stay as they are.

        tools: those whose findings are to be known from the beginning; without, the module's.
        """
        plan = self.plan(grid, block, *arguments, shared=shared, cluster=cluster, cooperative=cooperative)
        options = self.module._options
        tools = options["tools"] if tools is None else tools
        return Debugger(plan, tools=tools, seed=options["seed"], source_root=options["source_root"])

    def _request(
        self, grid: Extent, block: Extent, shared: int, cluster: Extent | None, cooperative: bool, arguments: list[Any]
    ) -> Request:
        """A launch as the device takes it."""
        of_cluster = None if cluster is None else extents(cluster)
        return self.name, extents(grid), extents(block), shared, of_cluster, cooperative, arguments

    def _flat(self, arguments: tuple[Any, ...], grid: Extent) -> Iterable[Any]:
        convention = self.module._convention
        if convention is None:
            return arguments
        return convention(arguments, len(self.parameters), math.prod(extents(grid)))

    def _parameter(self, at: int) -> str:
        declared = self.parameters
        return declared[at].split(" ")[-1] if at < len(declared) else f"argument {at}"

    def _host(self, at: int, value: Any) -> np.ndarray | None:
        """The array that an argument is; ``None`` for what is no array."""
        if isinstance(value, np.ndarray):
            array: np.ndarray | None = value
        elif isinstance(value, np.generic):
            return None
        else:
            array = on_host(value, f"argument {at} of {self.name}")
        if array is not None:
            what = f"argument {at} of {self.name}"
            check_type(array.dtype, what)
            if array.flags.writeable and _shares_elements(array):
                raise LaunchError(f"elements of {what} share memory, so that it cannot be copied back\nhelp: `array.copy()`")
        return array

    def _argument(self, at: int, value: Any, placed: Placed) -> Any:
        if isinstance(value, DeviceArray):
            if value._device is not self.module._device:
                raise LaunchError(f"argument {at} of {self.name} lies on the device of another module")
            return value.address
        if id(value) in placed:
            return placed[id(value)][3]
        array = self._host(at, value)
        if array is None:
            return self._scalar(at, value)
        self._refuse_overlap(at, array, [of for _, of, _, _ in placed.values()])
        whole = np.ascontiguousarray(array).reshape(array.shape)
        address = self.module._device.allocate(array.nbytes, self._parameter(at))
        placed[id(value)] = value, array, whole, address
        to_device(self.module._device, address, whole)
        return address

    def _scalar(self, at: int, value: Any) -> Any:
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
            "help: numbers, numpy arrays, others that have __dlpack__, arrays of the module and bytes are arguments"
        )

    def _refuse_overlap(self, at: int, array: np.ndarray, others: Iterable[np.ndarray]) -> None:
        for other in others:
            if np.may_share_memory(array, other) and (array.flags.writeable or other.flags.writeable):
                raise LaunchError(
                    f"argument {at} of {self.name} overlaps another array\n"
                    "help: each array is copied to the device; put the whole one there with `module.array`"
                )

    def __repr__(self) -> str:
        return f"<Kernel {self.name}({', '.join(self.parameters)})>"


class Launcher:
    """A kernel with the shape of a launch."""

    def __init__(self, kernel: Kernel, grid: Extent, block: Extent, shared: int = 0) -> None:
        self.kernel, self.grid, self.block, self.shared = kernel, grid, block, shared

    def __call__(
        self, *arguments: Any, cluster: Extent | None = None, cooperative: bool = False, profile: bool = False
    ) -> Report:
        """See :meth:`Kernel.launch`."""
        return self.kernel.launch(
            self.grid,
            self.block,
            *arguments,
            shared=self.shared,
            cluster=cluster,
            cooperative=cooperative,
            profile=profile,
        )

    def profile(self, *arguments: Any, cluster: Extent | None = None, cooperative: bool = False) -> Profile:
        """See :meth:`Kernel.profile`."""
        return self.kernel.profile(
            self.grid, self.block, *arguments, shared=self.shared, cluster=cluster, cooperative=cooperative
        )

    def debug(
        self,
        *arguments: Any,
        cluster: Extent | None = None,
        cooperative: bool = False,
        tools: str | Iterable[str] | None = None,
    ) -> Debugger:
        """See :meth:`Kernel.debug`."""
        return self.kernel.debug(
            self.grid,
            self.block,
            *arguments,
            shared=self.shared,
            cluster=cluster,
            cooperative=cooperative,
            tools=tools,
        )

    def plan(self, *arguments: Any, cluster: Extent | None = None, cooperative: bool = False) -> Plan:
        """See :meth:`Kernel.plan`."""
        return self.kernel.plan(
            self.grid, self.block, *arguments, shared=self.shared, cluster=cluster, cooperative=cooperative
        )


def _shares_elements(array: np.ndarray) -> bool:
    """Whether several elements of an array surely lie at one place."""
    return any(step == 0 and extent > 1 for step, extent in zip(array.strides, array.shape))


def extents(of: Extent) -> tuple[int, int, int]:
    """One to three extents as three."""
    parts = tuple(int(part) for part in of) if isinstance(of, (tuple, list)) else (int(of),)
    if not 1 <= len(parts) <= 3 or any(not 0 < part < 1 << 32 for part in parts):
        raise LaunchError(f"{of!r} is no extent\nhelp: one to three numbers from 1 on")
    x, y, z = parts + (1,) * (3 - len(parts))
    return x, y, z
