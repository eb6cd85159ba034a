"""PyTorch's eager operators on a simulated device.

PyTorch compiles for a device what ``torch.compile`` and Triton make; its own operators are machine code, which nothing here
executes. With this module they are computed **on the CPU**: what an operator reads comes from the device, what it writes goes
back there. Allocations, copies of bytes, views, streams, Triton kernels and compiled graphs are the simulated device's own.
So a script that says ``model.to("cuda")`` runs, and the kernels in it that can be checked are checked.

Values of eager operators are the CPU's: they may differ from a GPU's in the last bits, as two GPUs' do. Random numbers follow
from the device's generators, their seeds and states, and are not those of a GPU with the same seed.

Use it around code, for a process, or for a script that knows nothing of it; threads and processes that are started in it are in
it, too::

    with warpgrind.torch.eager():
        model(inputs.to("cuda"))

    warpgrind.torch.enable()

    $ warpgrind exec -- python -m warpgrind.torch train.py --epochs 1
    $ warpgrind exec -- python -m warpgrind.torch -m pytest tests
"""

# PyTorch need not be installed where types are checked.
# mypy: disable-error-code="import-not-found, misc, no-any-return, attr-defined, no-untyped-call"
from __future__ import annotations

import ctypes
import hashlib
import itertools
import multiprocessing.spawn
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
import torch._dynamo.convert_frame
from torch._C import DispatchKey
from torch._decomp import decomposition_table
from torch._library import custom_ops
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental import proxy_tensor
from torch.utils import _python_dispatch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from . import _script, _torch_products
from ._torch_cells import CELLS

aten = torch.ops.aten

#: PyTorch's own, as tests put others in their place, which fill fresh memory so that what reads it is seen.
_empty, _empty_like = torch.empty, torch.empty_like

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
    aten._efficientzerotensor.default,
    aten.is_pinned.default,
    aten._pin_memory.default,
}

#: Operators on functions that launch kernels.
_LAUNCHES = ("triton_kernel_wrapper_mutation", "triton_kernel_wrapper_functional")

#: Operators that hand tensors to other processes and compute nothing.
_COMMUNICATION = ("c10d", "_c10d_functional", "_c10d_functional_autograd")

#: What an operator's kernel for a device may be registered for, as PyTorch looks for it.
_KERNELS = (
    DispatchKey.CUDA,
    DispatchKey.CompositeExplicitAutogradNonFunctional,
    DispatchKey.CompositeExplicitAutograd,
    DispatchKey.CompositeImplicitAutograd,
)

#: What an operator may be computed in where the CPU has none for a type.
_WIDER = {torch.float16: torch.float32, torch.bfloat16: torch.float32, torch.complex32: torch.complex64}

#: What a GPU computes on wider numbers than its arguments and rounds once; the CPU's own kernel rounds in between.
_ROUNDED_ONCE = {
    aten._adaptive_avg_pool3d,
    aten.addcdiv,
    aten.addcdiv_,
    aten.avg_pool2d_backward,
    aten.batch_norm_backward,
    aten._batch_norm_with_update,
    aten.col2im,
    aten.convolution,
    aten.convolution_backward,
    aten._embedding_bag,
    aten._embedding_bag_backward,
    aten._embedding_bag_dense_backward,
    aten._embedding_bag_forward_only,
    aten.embedding_dense_backward,
    aten._foreach_addcdiv,
    aten._foreach_addcdiv_,
    aten._foreach_rsqrt,
    aten._foreach_rsqrt_,
    aten._fused_rms_norm,
    aten.glu_backward,
    aten.grid_sampler_2d,
    aten.grid_sampler_2d_backward,
    aten.grid_sampler_3d,
    aten.grid_sampler_3d_backward,
    aten.index_put,
    aten.index_put_,
    aten._index_put_impl_,
    aten._log_softmax,
    aten.logit,
    aten.logit_backward,
    aten.native_batch_norm,
    aten.native_batch_norm_backward,
    aten._native_batch_norm_legit,
    aten._native_batch_norm_legit_functional,
    aten.native_group_norm,
    aten.native_layer_norm,
    aten.native_layer_norm_backward,
    aten.nll_loss2d_forward,
    aten.nll_loss_forward,
    aten.prod,
    aten.rsqrt,
    aten.rsqrt_,
    aten.segment_reduce,
    aten._softmax,
    aten.upsample_bicubic2d,
    aten.upsample_linear1d,
    aten.upsample_trilinear3d,
}

#: What a GPU takes numbers in as wide ones that stand beside narrow tensors; the CPU rounds them first.
_WITH_WIDE_NUMBERS = {
    aten._foreach_add,
    aten._foreach_add_,
    aten._foreach_sub,
    aten._foreach_sub_,
    aten.add,
    aten.add_,
    aten.rsub,
    aten.sub,
    aten.sub_,
}

#: What gives memory that nobody has written.
_FRESH = {aten.empty, aten.empty_like, aten.empty_permuted, aten.empty_strided, aten.new_empty, aten.new_empty_strided}

#: What reads nothing of the tensor that it writes.
_OVERWRITES = {aten.zero_.default, aten.fill_.Scalar, aten.fill_.Tensor}

#: Modes in which nothing is computed: a compiler asks what tensors would look like. They are below all others.
_SYMBOLIC = (
    torch._C._TorchDispatchModeKey.FAKE,
    torch._C._TorchDispatchModeKey.PROXY,
    torch._C._TorchDispatchModeKey.FUNCTIONAL,
)

#: What statistics of batches are called, which operators write without declaring it.
_STATISTICS = ("running_mean", "running_var")

#: Operators beside those on elements whose arguments PyTorch wants on one device.
_OF_ONE_DEVICE = {
    aten.addbmm,
    aten.addmm,
    aten.addmv,
    aten.addr,
    aten.baddbmm,
    aten.bmm,
    aten.cat,
    aten.convolution,
    aten.dot,
    aten.embedding,
    aten.gather,
    aten.index_select,
    aten.mm,
    aten.mv,
    aten.native_batch_norm,
    aten.native_group_norm,
    aten.native_layer_norm,
    aten.nll_loss2d_forward,
    aten.nll_loss_forward,
    aten.scatter,
    aten.scatter_add,
}

#: What shows parts of a sparse tensor, or all of it; what gives another look at a tensor computes where it is sparse.
_SHOWS_PARTS = {
    aten._indices.default,
    aten._values.default,
    aten.alias.default,
    aten.ccol_indices.default,
    aten.col_indices.default,
    aten.crow_indices.default,
    aten.detach.default,
    aten.indices.default,
    aten.row_indices.default,
    aten.values.default,
}

#: Results that lie on the CPU wherever the arguments are, by number.
_STAYS_ON_THE_CPU = {aten._pack_padded_sequence.default: 1}


def _is_there(value: object) -> bool:
    return isinstance(value, torch.Tensor) and value.is_cuda


def _check_devices(function: Any, values: list[Any], device: torch.device) -> None:
    """Refuses tensors of the CPU beside those of a device, as PyTorch does; numbers may lie anywhere."""
    if torch.Tag.pointwise not in function.tags and function.overloadpacket not in _OF_ONE_DEVICE:
        return
    tensors = (value for value in values if isinstance(value, torch.Tensor))
    if any(tensor.device.type == "cpu" and tensor.dim() > 0 for tensor in tensors):
        raise RuntimeError(
            f"Expected all tensors to be on the same device, but found at least two devices, {device} and cpu! "
            f"(when checking arguments of {function})"
        )


def _only_views(function: Any, values: list[Any]) -> bool:
    """Whether an operator gives another look at its argument and computes nothing."""
    is_sparse = any(isinstance(value, torch.Tensor) and value.layout != torch.strided for value in values)
    if is_sparse and function not in _SHOWS_PARTS:
        return False
    if torch.Tag.inplace_view in function.tags:
        return True
    returns = function._schema.returns
    aliases = [value.alias_info for value in returns]
    return bool(returns) and all(alias is not None and not alias.is_write for alias in aliases)


def _bytes_of(tensor: torch.Tensor) -> torch.Tensor:
    """All bytes of a tensor's storage."""
    storage = tensor.untyped_storage()
    whole = _empty(0, dtype=torch.uint8, device=tensor.device)
    return whole.set_(storage, 0, (storage.nbytes(),), (1,))


class _Copies:
    """The CPU's copies of storages, with what tensors in them look like."""

    def __init__(self, capture: _Capture | None) -> None:
        self._capture = capture
        self._storages: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        self._tensors: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    def here(self, tensor: torch.Tensor) -> torch.Tensor:
        """A tensor on the CPU with the same bytes and strides; tensors that share their storage share it here, too."""
        known = self._tensors.get(id(tensor))
        if known is None:
            if tensor._is_zerotensor():
                copy = _zeros(tensor, "cpu")
            elif tensor.layout == torch.strided:
                copy = self._strided(tensor)
            else:
                copy = _of_parts(tensor, self.here)
            known = self._tensors[id(tensor)] = (tensor, copy)
        return known[1]

    def overwritten(self, tensor: torch.Tensor) -> None:
        """Nothing of a tensor need be read, if nothing else is in its storage."""
        if tensor.layout == torch.strided and tensor.is_contiguous():
            there = _bytes_of(tensor)
            if there.numel() == tensor.numel() * tensor.element_size():
                self._storages[tensor.untyped_storage()._cdata] = (there, _empty_like(there, device="cpu"))

    def _strided(self, tensor: torch.Tensor) -> torch.Tensor:
        _refuse_kinds(tensor)
        there = _bytes_of(tensor)
        key = tensor.untyped_storage()._cdata
        if key not in self._storages:
            self._storages[key] = (there, _moved(there, _empty_like(there, device="cpu"), self._capture))
        bytes_here = self._storages[key][1]
        copy = _empty(0, dtype=tensor.dtype)
        offset, size, stride = tensor.storage_offset(), tensor.size(), tensor.stride()
        copy.set_(bytes_here.untyped_storage(), offset, size, stride)
        if tensor.is_conj():
            copy = torch._conj(copy)
        if tensor.is_neg():
            copy = torch._neg_view(copy)
        return copy

    def original(self, copy: torch.Tensor) -> torch.Tensor | None:
        """The tensor that a copy stands for."""
        return next((tensor for tensor, known in self._tensors.values() if known is copy), None)

    def write_back(self, tensor: torch.Tensor) -> None:
        """What was written to the copy of a tensor goes to the device."""
        if tensor.layout != torch.strided:
            tensor.data = _there(self.here(tensor), tensor.device, self._capture)
            return
        there, bytes_here = self._storages[tensor.untyped_storage()._cdata]
        _moved(bytes_here, there, self._capture)


def _of_parts(tensor: torch.Tensor, moved: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
    """A sparse tensor of the parts of another one, each moved."""
    if tensor.layout == torch.sparse_coo:
        parts = moved(tensor._indices()), moved(tensor._values())
        coalesced = tensor.is_coalesced()
        return torch.sparse_coo_tensor(*parts, tensor.size(), is_coalesced=coalesced, check_invariants=False)
    rows = tensor.layout in (torch.sparse_csr, torch.sparse_bsr)
    compressed, plain = (
        (tensor.crow_indices(), tensor.col_indices()) if rows else (tensor.ccol_indices(), tensor.row_indices())
    )
    return torch.sparse_compressed_tensor(
        moved(compressed), moved(plain), moved(tensor.values()), tensor.size(), layout=tensor.layout, check_invariants=False
    )


def _refuse_kinds(tensor: torch.Tensor) -> None:
    """Fails for a strided tensor that is more than its bytes."""
    if tensor.is_quantized or tensor.is_nested:
        kind = "quantized" if tensor.is_quantized else "nested"
        raise NotImplementedError(f"warpgrind: eager operators on {kind} tensors of a device are not computed")


def _zeros(tensor: torch.Tensor, device: torch.device | str | None) -> torch.Tensor:
    """A tensor of zeros without memory, as derivatives use it, somewhere else."""
    return torch._efficientzerotensor(tensor.size(), dtype=tensor.dtype, device=device)


def _there(tensor: torch.Tensor, device: torch.device | None, capture: _Capture | None) -> torch.Tensor:
    """A tensor of the CPU's on the device, with its strides."""
    if tensor._is_zerotensor():
        return _zeros(tensor, device)
    if tensor.layout != torch.strided:
        return _of_parts(tensor, lambda part: _there(part, device, capture))
    _refuse_kinds(tensor)
    packed = tensor if _is_dense(tensor) else tensor.contiguous()
    storage = _empty(_span(packed), dtype=packed.dtype, device=device)
    source = packed.as_strided((_span(packed),), (1,), packed.storage_offset())
    _moved(source, storage, capture)
    return storage.as_strided(packed.size(), packed.stride(), 0)


def _moved(source: torch.Tensor, to: torch.Tensor, capture: _Capture | None) -> torch.Tensor:
    """Elements that lie one behind the other, copied to where as many do."""
    if capture is None:
        return to.copy_(source)
    capture.copies(source, to)
    return to


def _span(tensor: torch.Tensor) -> int:
    """Elements from the first to the last one."""
    if tensor.numel() == 0:
        return 0
    return 1 + sum((size - 1) * stride for size, stride in zip(tensor.size(), tensor.stride()))


def _is_dense(tensor: torch.Tensor) -> bool:
    return _span(tensor) == tensor.numel()


class _FreshMemory:
    """Whether a script wants fresh memory filled where PyTorch is to compute the same each time.

    PyTorch itself fills it by a kernel that is machine code, also where it asks no mode. So inside it is not told.
    """

    def __init__(self) -> None:
        self._tell = torch._C._set_deterministic_fill_uninitialized_memory
        self._wanted = torch._C._get_deterministic_fill_uninitialized_memory()
        self._inside = 0
        torch._C._set_deterministic_fill_uninitialized_memory = self._want
        torch._C._get_deterministic_fill_uninitialized_memory = lambda: self._wanted

    def _want(self, wanted: bool) -> None:
        self._wanted = wanted
        self._tell(wanted and not self._inside)

    def enter(self, by: int = 1) -> None:
        self._inside += by
        self._want(self._wanted)

    def leave(self) -> None:
        self.enter(-1)

    def is_filled(self) -> bool:
        return self._wanted and torch.are_deterministic_algorithms_enabled()


_fresh_memory = _FreshMemory()


class _Settings:
    """How PyTorch chooses operators: those that a CPU has, too; and not cuDNN's, of fused attention and of fresh memory."""

    def __init__(self) -> None:
        _fresh_memory.enter()
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
        _fresh_memory.leave()
        if torch.backends.flags_frozen():
            # A script has said that nobody sets them any more.
            return
        torch.backends.cudnn.enabled = self._cudnn
        for (_, enable_it), was in zip(self._attention, self._were):
            enable_it(was)


@contextmanager
def _numbers_from(seed: int, offset: int) -> Iterator[None]:
    """Random numbers of the CPU's generator inside follow from a seed and an offset alone."""
    # The CPU's generator makes use of 32 bits of a seed.
    state = hashlib.blake2b(f"{seed} {offset}".encode(), digest_size=4).digest()
    was = torch.default_generator.get_state()
    torch.default_generator.manual_seed(int.from_bytes(state, "little"))
    try:
        yield
    finally:
        torch.default_generator.set_state(was)


@contextmanager
def _numbers_of(generator: torch.Generator) -> Iterator[None]:
    """Random numbers of the CPU's generator inside follow from the state of a device's, which goes on."""
    offset = generator.get_offset()
    with _numbers_from(generator.initial_seed(), offset):
        try:
            yield
        finally:
            generator.set_offset(offset + 4)


@contextmanager
def _not_traced() -> Iterator[None]:
    """What happens inside is no part of what ``torch.jit.trace`` records."""
    was = torch._C._get_tracing_state()
    torch._C._set_tracing_state(None)
    try:
        yield
    finally:
        torch._C._set_tracing_state(was)


def _runtime(function: str) -> Callable[..., int] | None:
    """A function of the simulated runtime library, which is there under ``warpgrind exec``."""
    return getattr(ctypes.CDLL(None), function, None)


def _set_to_zero(tensor: torch.Tensor) -> bool:
    """Whether a tensor's bytes could be set to zero on the device."""
    fill = _runtime("cudaMemsetAsync")
    if fill is None or tensor.layout != torch.strided or not _is_dense(tensor):
        return False
    stream = ctypes.c_void_p(torch.cuda.current_stream(tensor.device).cuda_stream)
    size = ctypes.c_size_t(tensor.numel() * tensor.element_size())
    return fill(ctypes.c_void_p(tensor.data_ptr()), 0, size, stream) == 0


def _written(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """The arguments that an operator writes."""
    if isinstance(function, torch._ops.HigherOrderOperator):
        return []
    declarations = function._schema.arguments
    given = dict(zip((declared.name for declared in declarations), args)) | kwargs
    writes = [
        declared
        for declared in declarations
        if declared.name in _STATISTICS or (declared.alias_info is not None and declared.alias_info.is_write)
    ]
    return pytree.tree_leaves([given.get(declared.name) for declared in writes])


def _is_rounded_once(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a GPU computes an operator on narrow numbers in wider ones, and the CPU does not."""
    operator = getattr(function, "overloadpacket", None)
    if operator in _WITH_WIDE_NUMBERS:
        return any(isinstance(value, (int, float)) for value in pytree.tree_leaves((args, kwargs)))
    return operator in _ROUNDED_ONCE


def _computed(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What an operator gives on the CPU: by its own kernel, on wider numbers, or by the operators that it is made of."""
    stand_in = CELLS.get(function, function)
    narrow = any(isinstance(value, torch.Tensor) and value.dtype in _WIDER for value in pytree.tree_leaves((args, kwargs)))
    try:
        if narrow and _is_rounded_once(function, args, kwargs):
            return _on_wider_numbers(function, args, kwargs)
        return stand_in(*args, **kwargs)
    except RuntimeError as error:
        # Older versions have no class of errors for it.
        if not isinstance(error, NotImplementedError) and "doesn't support" not in str(error):
            raise
        ways = [lambda: _on_wider_numbers(function, args, kwargs)] if narrow else []
        if function in decomposition_table:
            ways.append(lambda: decomposition_table[function](*args, **kwargs))
        for way in ways:
            try:
                return way()
            except NotImplementedError:
                pass
        raise NotImplementedError(
            f"warpgrind: {function} is an operator of GPUs only, as machine code; the CPU has none to compute it with"
        ) from error


def _on_wider_numbers(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """An operator's results, computed on wider numbers and rounded to the types that they have."""
    originals: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}

    def wide(value: Any) -> Any:
        if isinstance(value, torch.dtype):
            return _WIDER.get(value, value)
        if not isinstance(value, torch.Tensor) or value.dtype not in _WIDER:
            return value
        copy = value.to(_WIDER[value.dtype])
        originals[id(copy)] = (value, copy)
        return copy

    def symbolic(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return value.to("meta")
        return torch.device("meta") if isinstance(value, torch.device) else value

    symbolic_args, symbolic_kwargs = pytree.tree_map(symbolic, (args, kwargs))
    try:
        declared = pytree.tree_leaves(function(*symbolic_args, **symbolic_kwargs))
    except NotImplementedError:
        declared = []
    wide_args, wide_kwargs = pytree.tree_map(wide, (args, kwargs))
    result = CELLS.get(function, function)(*wide_args, **wide_kwargs)
    for written in _written(function, wide_args, wide_kwargs):
        if id(written) in originals:
            original, copy = originals[id(written)]
            original.copy_(copy)

    narrow = next(original.dtype for original, _ in originals.values())
    back = {_WIDER[narrow]: narrow}

    def rounded(value: Any, declared: Any) -> Any:
        if id(value) in originals or not isinstance(value, torch.Tensor):
            return originals.get(id(value), (value,))[0]
        return value.to(declared.dtype if declared is not None else back.get(value.dtype, value.dtype))

    leaves, structure = pytree.tree_flatten(result)
    return pytree.tree_unflatten(list(map(rounded, leaves, declared or [None] * len(leaves))), structure)


#: Convolutions, and the place of their input; weights, the bias or its sizes, and settings stand behind it.
_CONVOLUTIONS = {aten.convolution.default: 0, aten.convolution_backward.default: 1}


def _order_of(function: Any, args: tuple[Any, ...]) -> torch.memory_format | None:
    """The order of dimensions in which cuDNN gives what an operator gives, if it is a convolution."""
    if function not in _CONVOLUTIONS:
        return None
    source, weight, bias, *settings = args[_CONVOLUTIONS[function] :]
    if weight.ndim == 3 or source.ndim < weight.ndim:
        return torch.contiguous_format
    names = ("stride", "padding", "dilation", "transposed", "output_padding", "groups")
    # Backwards the bias is known by its sizes.
    of_bias = {"bias": bias} if isinstance(bias, torch.Tensor) else {"bias": None, "bias_sizes": bias}
    backend = torch._C._select_conv_backend(source, weight, **dict(zip(names, settings)), **of_bias)
    return torch._C._conv_determine_backend_memory_format(source, weight, backend)


def _in_order(value: Any, order: torch.memory_format) -> Any:
    # Gradients of a bias have one dimension.
    is_laid_out = isinstance(value, torch.Tensor) and value.ndim > 1
    return value.contiguous(memory_format=order) if is_laid_out else value


def _select_conv_backend(*args: Any, **kwargs: Any) -> Any:
    # Compiled code relies on the order in which the device's convolutions give their results: cuDNN's, also where that is off.
    enabled = torch._C._get_cudnn_enabled()
    torch._C._set_cudnn_enabled(True)
    try:
        return _own_select_conv_backend(*args, **kwargs)
    finally:
        torch._C._set_cudnn_enabled(enabled)


_own_select_conv_backend = torch._C._select_conv_backend
torch._C._select_conv_backend = _select_conv_backend


class _Entered(threading.local):
    """The operators of others that are being computed on a thread."""

    def __init__(self) -> None:
        self.functions: list[Any] = []


_entered = _Entered()


def _of_operators(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """An operator that is not PyTorch's own: it launches kernels of its own, and may be made of PyTorch's operators."""
    definition = custom_ops._maybe_get_opdef(function)
    in_python = definition and (definition._backend_fns.get("cuda") or definition._backend_fns.get(None))
    if in_python:
        with _Operators():
            return in_python(*args, **kwargs)
    # What is written in Python asks the mode again before it begins, and begins only without one.
    kernel = next((key for key in _KERNELS if function.has_kernel_for_dispatch_key(key)), None)
    if kernel is None or function in _entered.functions:
        return function(*args, **kwargs)
    _entered.functions.append(function)
    try:
        with _Operators():
            return function._op_dk(kernel, *args, **kwargs)
    finally:
        _entered.functions.pop()


class _Capture:
    """A stream's capture into a graph: what is computed on the CPU is a node of it, between copies, and done when the graph runs."""

    def __init__(self, stream: int, graph: torch.cuda.CUDAGraph) -> None:
        self._stream = ctypes.c_void_p(stream)
        # What nodes use is there as long as the graph.
        self._kept: list[Any] = graph.__dict__.setdefault("_warpgrind_kept", [])

    @staticmethod
    def of_this_stream() -> _Capture | None:
        if not _captured or not torch.cuda.is_current_stream_capturing():
            return None
        return _Capture(torch.cuda.current_stream().cuda_stream, _captured[-1])

    def _call(self, function: str, *arguments: Any) -> None:
        called = _runtime(function)
        if called is None or called(*arguments):
            raise RuntimeError(f"warpgrind: {function} did not become a node of the graph that is captured")

    def copies(self, source: torch.Tensor, to: torch.Tensor) -> None:
        """A node that copies bytes."""
        # Memory of the device is the graph's own or the program's to keep, as on a GPU.
        self._kept += [end for end in (source, to) if not end.is_cuda]
        size, either_way = ctypes.c_size_t(source.numel() * source.element_size()), 4
        addresses = ctypes.c_void_p(to.data_ptr()), ctypes.c_void_p(source.data_ptr())
        if size.value:
            self._call("cudaMemcpyAsync", *addresses, size, either_way, self._stream)

    def whenever_it_runs(self, computed: Callable[[], Any], is_random: bool) -> Any:
        """A node that computes; what it gives lies in what the same has given once, on numbers that say nothing."""
        result = pytree.tree_map(_packed, computed())

        def compute(_: Any) -> None:
            # What a node calls may ask nothing of the device, not even its generator.
            numbers = _numbers_from(torch.initial_seed(), next(_random_nodes)) if is_random else nullcontext()
            with torch.no_grad(), numbers:
                for kept, found in zip(pytree.tree_leaves(result), pytree.tree_leaves(computed())):
                    if isinstance(kept, torch.Tensor) and kept is not found:
                        kept.copy_(found)

        called_back = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(compute)
        self._kept += [result, called_back]
        self._call("cudaLaunchHostFunc", self._stream, called_back, None)
        return result


#: Counts what has drawn random numbers as a node.
_random_nodes = itertools.count()

#: Graphs that are captured.
_captured: list[torch.cuda.CUDAGraph] = []


def _capture_begin(graph: torch.cuda.CUDAGraph, *args: Any, **kwargs: Any) -> None:
    _captured.append(graph)
    _own_capture_begin(graph, *args, **kwargs)


def _capture_end(graph: torch.cuda.CUDAGraph) -> None:
    _captured.remove(graph)
    _own_capture_end(graph)


_own_capture_begin, _own_capture_end = torch.cuda.CUDAGraph.capture_begin, torch.cuda.CUDAGraph.capture_end
torch.cuda.CUDAGraph.capture_begin = _capture_begin
torch.cuda.CUDAGraph.capture_end = _capture_end


def _packed(value: Any) -> Any:
    return value.contiguous() if isinstance(value, torch.Tensor) and not _is_dense(value) else value


def _filled(fresh: torch.Tensor) -> torch.Tensor:
    """Fresh memory, filled as PyTorch does."""
    kind = fresh.dtype
    is_counted = not (kind.is_floating_point or kind.is_complex or kind == torch.bool)
    value = torch.iinfo(kind).max if is_counted else float("nan")
    with _Operators():
        return fresh.fill_(value)


class _Operators(TorchDispatchMode):
    """The mode in which eager operators on tensors of a device are computed on the CPU."""

    supports_higher_order_operators = True

    @classmethod
    def ignore_compile_internals(cls) -> bool:
        """What ``torch.compile`` takes is compiled, as it would be without the mode."""
        return True

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if any(torch._C._get_dispatch_mode(mode) is not None for mode in _SYMBOLIC):
            return func(*args, **(kwargs or {}))
        if any(kind.__torch_dispatch__ is not torch._C._disabled_torch_dispatch_impl for kind in types):
            # Such a tensor says itself which operators on plain ones make it up.
            return NotImplemented
        if torch._C._get_tracing_state() is not None:
            with _not_traced():
                return self.__torch_dispatch__(func, types, args, kwargs)
        kwargs = dict(kwargs or {})
        values = pytree.tree_leaves((args, kwargs))
        device = next((value.device for value in values if _is_there(value)), None)
        if isinstance(func, torch._ops.HigherOrderOperator):
            if device is None or func.name() in _LAUNCHES:
                return func(*args, **kwargs)
            return self._on_the_cpu(func, args, kwargs, device, None)
        wanted = kwargs.get("device")
        target = torch.device(wanted) if wanted is not None else None
        if target is not None and target.type == "cuda":
            device = target
        if getattr(func, "overloadpacket", None) in _FRESH:
            as_it_is = device is None or func in _NATIVE
            fresh = func(*args, **kwargs) if as_it_is else self._on_the_cpu(func, args, kwargs, device, target)
            return _filled(fresh) if _fresh_memory.is_filled() else fresh
        if device is None:
            return func(*args, **kwargs)
        if func in _NATIVE:
            return func(*args, **kwargs)
        if func.namespace in _COMMUNICATION:
            return func(*args, **kwargs)
        _check_devices(func, values, device)
        if func.namespace != "aten":
            try:
                return _of_operators(func, args, kwargs)
            except RuntimeError as error:
                # Its kernels are machine code, too; it may have some for a CPU.
                if "no kernel image" not in str(error) or not func.has_kernel_for_dispatch_key(DispatchKey.CPU):
                    raise
                return self._on_the_cpu(func, args, kwargs, device, target)
        if func is aten.zero_.default and _set_to_zero(args[0]):
            return args[0]
        if _only_views(func, values):
            # In inference mode what gives a view or a copy comes here whole.
            with _Operators():
                parts = func.decompose(*args, **kwargs)
            return func(*args, **kwargs) if parts is NotImplemented else parts
        is_copy = func in (aten._to_copy.default, aten.copy_.default)
        if is_copy and self._moves_bytes(func, args, kwargs):
            return func(*args, **kwargs)
        if torch.Tag.nondeterministic_seeded not in func.tags:
            return self._on_the_cpu(func, args, kwargs, device, target)
        given = (value for value in values if isinstance(value, torch.Generator) and value.device.type == "cuda")
        index = torch.cuda.current_device() if device.index is None else device.index
        generator = next(given, torch.cuda.default_generators[index])
        return self._on_the_cpu(func, args, kwargs, device, target, generator)

    @staticmethod
    def _moves_bytes(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether a copy between the CPU and a device needs no kernel."""
        if function is aten.copy_.default:
            to, source = args[0], args[1]
            if not to.layout == source.layout == torch.strided:
                return False
            alike = to.dtype == source.dtype and to.size() == source.size()
            dense = to.is_contiguous() and source.is_contiguous()
            return alike and dense and (to.is_cuda != source.is_cuda or to.is_cuda)
        source = args[0]
        if to_type := kwargs.get("dtype"):
            if to_type != source.dtype:
                return False
        order = kwargs.get("memory_format") or torch.preserve_format
        plain = order in (torch.preserve_format, torch.contiguous_format)
        return plain and source.layout == torch.strided and source.is_contiguous()

    @staticmethod
    def _on_the_cpu(
        function: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        device: torch.device | None,
        target: torch.device | None,
        generator: torch.Generator | None = None,
    ) -> Any:
        capture = _Capture.of_this_stream()
        copies = _Copies(capture)
        if function in _OVERWRITES and _is_there(args[0]):
            copies.overwritten(args[0])
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
        order = _order_of(function, args)

        def computed() -> Any:
            result = _computed(function, own_args, own_kwargs)
            return result if order is None else pytree.tree_map(lambda value: _in_order(value, order), result)

        if capture is not None:
            result = capture.whenever_it_runs(computed, is_random=generator is not None)
        else:
            with nullcontext() if generator is None else _numbers_of(generator):
                result = computed()
        for tensor in filter(_is_there, _written(function, args, kwargs)):
            copies.write_back(tensor)
        stays_here = target is not None and target.type == "cpu"

        def back(value: Any) -> Any:
            if not isinstance(value, torch.Tensor) or value.is_cuda or stays_here:
                return value
            original = copies.original(value)
            return _there(value, device, capture) if original is None else original

        if function in _STAYS_ON_THE_CPU:
            number = _STAYS_ON_THE_CPU[function]
            return tuple(value if at == number else back(value) for at, value in enumerate(result))
        return pytree.tree_map(back, result)


class Eager(_Operators):
    """The mode with PyTorch's settings for it."""

    def __enter__(self) -> Eager:
        self._settings = _Settings()
        return super().__enter__()

    def __exit__(self, *raised: Any) -> None:
        super().__exit__(*raised)
        self._settings.restore()


def _is_on() -> bool:
    return any(isinstance(mode, _Operators) for mode in _python_dispatch._get_current_dispatch_mode_stack())


def _start(thread: threading.Thread) -> None:
    # PyTorch's modes are a thread's own.
    if _is_on():
        run = thread.run

        def run_in_mode() -> None:
            with _Operators():
                run()

        thread.run = run_in_mode  # type: ignore[method-assign]
    _own_start(thread)


@contextmanager
def _disable_current_modes() -> Iterator[list[TorchDispatchMode]]:
    # PyTorch leaves all modes where it compiles and where it makes a text, and computes constants and digits there.
    inside = _is_on()
    with _own_disable_current_modes() as modes:
        if not inside:
            yield modes
            return
        with _Operators():
            yield modes


_own_disable_current_modes = _python_dispatch._disable_current_modes
_python_dispatch._disable_current_modes = _disable_current_modes
torch._dynamo.convert_frame._disable_current_modes = _disable_current_modes


def _may_turn_const(mode: FakeTensorMode, tensor: torch.Tensor) -> bool:
    # Where it compiles, PyTorch computes with constants on their own device, without any mode.
    return not tensor.is_cuda and _own_may_turn_const(mode, tensor)


_own_may_turn_const = FakeTensorMode.may_turn_const
FakeTensorMode.may_turn_const = _may_turn_const


@contextmanager
def _unset_fake_temporarily() -> Iterator[Any]:
    # Those of one element it computes all the same, where it writes the graph down.
    with _own_unset_fake_temporarily() as fakes, _Operators():
        yield fakes


_own_unset_fake_temporarily = proxy_tensor.unset_fake_temporarily
proxy_tensor.unset_fake_temporarily = _unset_fake_temporarily


def _ctc_loss(logarithms: torch.Tensor, targets: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
    # In a mode PyTorch divides by lengths where they lie, which may be the CPU; without one it takes numbers of them.
    lengths = [value.tolist() if isinstance(value, torch.Tensor) and _is_on() else value for value in args]
    return _own_ctc_loss(logarithms, targets, *lengths, **kwargs)


_own_ctc_loss = torch.ctc_loss
torch.ctc_loss = _ctc_loss


def _command_line(**kwargs: Any) -> list[str]:
    # What processes that Python starts anew for `multiprocessing` begin with.
    command = _own_command_line(**kwargs)
    if _is_on() and "-c" in command:
        command[command.index("-c") + 1] = "import warpgrind.torch; warpgrind.torch.enable(); " + command[command.index("-c") + 1]
    return command


_own_command_line = multiprocessing.spawn.get_command_line
multiprocessing.spawn.get_command_line = _command_line

_torch_products.replace()

_own_start = threading.Thread.start
threading.Thread.start = _start  # type: ignore[assignment, method-assign]


@contextmanager
def eager() -> Iterator[None]:
    """Computes eager operators on the CPU inside."""
    with Eager():
        yield


def enable() -> Callable[[], None]:
    """Does so from here on, on this thread and those that it starts; what it returns ends it."""
    mode = Eager()
    mode.__enter__()
    return lambda: mode.__exit__(None, None, None)


def main(arguments: list[str]) -> None:
    """Runs a script or a module with its arguments."""
    with eager():
        _script.run("warpgrind.torch", arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
