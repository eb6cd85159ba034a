"""PyTorch's eager operators on a simulated device.

PyTorch compiles for a device what ``torch.compile`` and Triton make; its own operators are machine code, which nothing here
executes. With this module they are computed **on the CPU**: what an operator reads comes from the device, what it writes goes
back there. Allocations, copies of bytes, views, streams, Triton kernels and compiled graphs are the simulated device's own.
So a script that says ``model.to("cuda")`` runs, and the kernels in it that can be checked are checked.

Values of eager operators are the CPU's: they may differ from a GPU's in the last bits, as two GPUs' do, and random numbers are
those of the CPU's generator.

Use it around code, for a process, or for a script that knows nothing of it::

    with warpgrind.torch.eager():
        model(inputs.to("cuda"))

    warpgrind.torch.enable()

    $ warpgrind exec -- python -m warpgrind.torch train.py --epochs 1
"""

# PyTorch need not be installed where types are checked.
# mypy: disable-error-code="import-not-found, misc, no-any-return, attr-defined, no-untyped-call"
from __future__ import annotations

import runpy
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from ._torch_cells import CELLS

aten = torch.ops.aten

#: What runs as it is: it moves or allocates bytes, or only says what tensors are.
_NATIVE = {
    aten.empty.memory_format,
    aten.empty_strided.default,
    aten.set_.source_Storage,
    aten.set_.source_Storage_storage_offset,
    aten.set_.source_Tensor,
    aten.set_.source_Tensor_storage_offset,
    aten.resize_.default,
    aten.record_stream.default,
    aten._local_scalar_dense.default,
    aten.is_pinned.default,
    aten._pin_memory.default,
}


def _is_there(value: object) -> bool:
    return isinstance(value, torch.Tensor) and value.is_cuda


def _only_views(function: Any) -> bool:
    """Whether an operator gives another look at its argument and computes nothing."""
    returns = function._schema.returns
    aliases = [value.alias_info for value in returns]
    return bool(returns) and all(alias is not None and not alias.is_write for alias in aliases)


def _bytes_of(tensor: torch.Tensor) -> torch.Tensor:
    """All bytes of a tensor's storage."""
    storage = tensor.untyped_storage()
    whole = torch.empty(0, dtype=torch.uint8, device=tensor.device)
    return whole.set_(storage, 0, (storage.nbytes(),), (1,))


class _Copies:
    """The CPU's copies of storages, with what tensors in them look like."""

    def __init__(self) -> None:
        self._storages: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        self._tensors: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    def here(self, tensor: torch.Tensor) -> torch.Tensor:
        """A tensor on the CPU with the same bytes and strides; tensors that share their storage share it here, too."""
        known = self._tensors.get(id(tensor))
        if known is None:
            there = _bytes_of(tensor)
            key = tensor.untyped_storage()._cdata
            if key not in self._storages:
                self._storages[key] = (there, there.cpu())
            bytes_here = self._storages[key][1]
            copy = torch.empty(0, dtype=tensor.dtype)
            offset, size, stride = tensor.storage_offset(), tensor.size(), tensor.stride()
            copy.set_(bytes_here.untyped_storage(), offset, size, stride)
            if tensor.is_conj():
                copy = torch._conj(copy)
            if tensor.is_neg():
                copy = torch._neg_view(copy)
            known = self._tensors[id(tensor)] = (tensor, copy)
        return known[1]

    def original(self, copy: torch.Tensor) -> torch.Tensor | None:
        """The tensor that a copy stands for."""
        return next((tensor for tensor, known in self._tensors.values() if known is copy), None)

    def write_back(self, tensor: torch.Tensor) -> None:
        """What was written to the copy of a tensor goes to the device."""
        there, bytes_here = self._storages[tensor.untyped_storage()._cdata]
        there.copy_(bytes_here)


def _there(tensor: torch.Tensor, device: torch.device | None) -> torch.Tensor:
    """A tensor of the CPU's on the device, with its strides."""
    if tensor.layout != torch.strided:
        return tensor.to(device)
    packed = tensor if _is_dense(tensor) else tensor.contiguous()
    storage = torch.empty(_span(packed), dtype=packed.dtype, device=device)
    source = packed.as_strided((_span(packed),), (1,), packed.storage_offset())
    storage.copy_(source)
    return storage.as_strided(packed.size(), packed.stride(), 0)


def _span(tensor: torch.Tensor) -> int:
    """Elements from the first to the last one."""
    if tensor.numel() == 0:
        return 0
    return 1 + sum((size - 1) * stride for size, stride in zip(tensor.size(), tensor.stride()))


def _is_dense(tensor: torch.Tensor) -> bool:
    return _span(tensor) == tensor.numel()


class _Settings:
    """How PyTorch chooses operators: the ones that a CPU has, too, and not those of cuDNN and of fused attention."""

    def __init__(self) -> None:
        cuda = torch.backends.cuda
        self._attention = (
            (cuda.flash_sdp_enabled, cuda.enable_flash_sdp),
            (cuda.mem_efficient_sdp_enabled, cuda.enable_mem_efficient_sdp),
            (cuda.cudnn_sdp_enabled, cuda.enable_cudnn_sdp),
        )
        self._were = [is_enabled() for is_enabled, _ in self._attention]
        self._cudnn = torch.backends.cudnn.enabled
        torch.backends.cudnn.enabled = False
        for _, enable_it in self._attention:
            enable_it(False)

    def restore(self) -> None:
        torch.backends.cudnn.enabled = self._cudnn
        for (_, enable_it), was in zip(self._attention, self._were):
            enable_it(was)


def _text_of(tensor: torch.Tensor, *, tensor_contents: str | None = None) -> str:
    # PyTorch leaves all modes before it makes a text.
    with Eager():
        return _own_text_of(tensor, tensor_contents=tensor_contents)


_own_text_of = torch._tensor_str._str_intern
torch._tensor_str._str_intern = _text_of


class Eager(TorchDispatchMode):
    """The mode in which eager operators on tensors of a device are computed on the CPU."""

    def __enter__(self) -> Eager:
        self._settings = _Settings()
        return super().__enter__()

    def __exit__(self, *raised: Any) -> None:
        super().__exit__(*raised)
        self._settings.restore()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        values = pytree.tree_leaves((args, kwargs))
        device = next((value.device for value in values if _is_there(value)), None)
        wanted = kwargs.get("device")
        target = torch.device(wanted) if wanted is not None else None
        if target is not None and target.type == "cuda":
            device = target
        is_copy = func in (aten._to_copy.default, aten.copy_.default)
        native = func in _NATIVE or func.namespace != "aten" or device is None or _only_views(func)
        if native or is_copy and self._moves_bytes(func, args, kwargs):
            return func(*args, **kwargs)
        return self._on_the_cpu(func, args, kwargs, device, target)

    @staticmethod
    def _moves_bytes(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether a copy between the CPU and a device needs no kernel."""
        if function is aten.copy_.default:
            to, source = args[0], args[1]
            alike = to.dtype == source.dtype and to.size() == source.size()
            dense = to.is_contiguous() and source.is_contiguous()
            return alike and dense and (to.is_cuda != source.is_cuda or to.is_cuda)
        source = args[0]
        to_type = kwargs.get("dtype")
        return (to_type is None or to_type == source.dtype) and source.is_contiguous()

    @staticmethod
    def _on_the_cpu(
        function: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        device: torch.device | None,
        target: torch.device | None,
    ) -> Any:
        copies = _Copies()
        cpu = torch.device("cpu")

        def here(value: Any) -> Any:
            if _is_there(value):
                return copies.here(value)
            if isinstance(value, torch.device) and value.type == "cuda":
                return cpu
            if isinstance(value, torch.Generator) and value.device.type == "cuda":
                return torch.default_generator
            return value

        own_args, own_kwargs = pytree.tree_map(here, (args, kwargs))
        try:
            result = CELLS.get(function, function)(*own_args, **own_kwargs)
        except NotImplementedError as error:
            raise NotImplementedError(
                f"warpgrind: {function} is an operator of GPUs only, as machine code; the CPU has none to compute it with"
            ) from error
        given = dict(zip((declared.name for declared in function._schema.arguments), args)) | kwargs
        for declared in function._schema.arguments:
            if declared.alias_info is not None and declared.alias_info.is_write:
                for tensor in filter(_is_there, pytree.tree_leaves(given.get(declared.name))):
                    copies.write_back(tensor)
        stays_here = target is not None and target.type == "cpu"

        def back(value: Any) -> Any:
            if not isinstance(value, torch.Tensor) or value.is_cuda or stays_here:
                return value
            original = copies.original(value)
            return _there(value, device) if original is None else original

        return pytree.tree_map(back, result)


@contextmanager
def eager() -> Iterator[None]:
    """Computes eager operators on the CPU inside."""
    with Eager():
        yield


def enable() -> Callable[[], None]:
    """Does so from here on, on this thread; what it returns ends it."""
    mode = Eager()
    mode.__enter__()
    return lambda: mode.__exit__(None, None, None)


def main(arguments: list[str]) -> None:
    """Runs a script with its arguments."""
    if not arguments:
        sys.exit("usage: python -m warpgrind.torch SCRIPT [ARGUMENT…]")
    sys.argv = arguments
    with eager():
        runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
