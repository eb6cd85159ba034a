"""JAX's factorisations, Fourier transforms and sparse matrices on a simulated device.

XLA has cuSOLVER, cuBLAS and cuFFT compute the first two, which have NVIDIA's runtime library inside and do not run here. With this
module a program that is compiled for the device calls back to the host for them, where JAX's own kernels for the CPU compute them with
the CPU's rounding. Sparse matrices are compiled for the device instead of calling cuSPARSE. All else runs as without this module,
but for convolutions in groups of the batch, as in gradients of grouped and depthwise ones: without cuDNN XLA forgets the groups, and
they are compiled as groups of features. Products whose dimensions none of XLA's tiles fits, which cuBLAS computes on a GPU, are loops.

Where this package is installed, JAX enables it by itself under ``warpgrind exec``. Where it is only found, a script that knows nothing of
it, and a process, before anything is compiled that needs it, do so with::

    $ warpgrind exec -- python -m warpgrind.jax train.py

    warpgrind.jax.enable()
"""

# JAX need not be installed where types are checked.
# mypy: disable-error-code="import-not-found, import-untyped"
from __future__ import annotations

import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax._src import compiler
from jax._src.interpreters import mlir
from jax._src.lax import linalg
from jax.experimental.sparse import _lowerings as sparse_products
from jax.experimental.sparse import bcoo, bcsr, coo, csr
from jax.experimental.sparse import linalg as sparse_linalg
from jax.extend.core import Primitive

from . import _script


def _primitives(*modules: Any) -> list[Any]:
    """The primitives of modules, some of which have no public name, as the raw QR factorisation."""
    return [named for module in modules for named in vars(module).values() if isinstance(named, Primitive)]


def _called_back(primitive: Any) -> Any:
    """The rule by which a primitive becomes a call of the host."""

    def rule(context: Any, *operands: Any, **parameters: Any) -> Any:
        # Which of a GPU's ways is wanted means nothing to the CPU.
        parameters |= dict.fromkeys(parameters.keys() & {"algorithm", "implementation"})
        results = [jax.ShapeDtypeStruct(result.shape, result.dtype) for result in context.avals_out]

        def compute(*arrays: Any) -> list[Any]:
            cpu = jax.local_devices(backend="cpu")[0]
            with jax.default_device(cpu):
                made = primitive.bind(*(jax.device_put(np.asarray(array), cpu) for array in arrays), **parameters)
            return [np.asarray(one) for one in (made if primitive.multiple_results else [made])]

        def call(*arrays: Any) -> Any:
            made = jax.pure_callback(compute, results, *arrays)
            return made if primitive.multiple_results else made[0]

        return mlir.lower_fun(call, multiple_results=primitive.multiple_results)(context, *operands)

    return rule


def _convolved(lhs: Any, rhs: Any, **parameters: Any) -> Any:
    """A convolution in groups of the batch as one in as many groups of features, one behind the other as those were."""
    groups = parameters["batch_group_count"]
    batch, feature = parameters["dimension_numbers"].lhs_spec[:2]
    apart = jnp.moveaxis(lhs.reshape(*lhs.shape[:batch], groups, -1, *lhs.shape[batch + 1 :]), batch, 0)
    beside = jnp.moveaxis(apart, 0, feature)
    lhs = beside.reshape(*beside.shape[:feature], -1, *beside.shape[feature + 2 :])
    return jax.lax.conv_general_dilated_p.bind(lhs, rhs, **parameters | {"batch_group_count": 1, "feature_group_count": groups})


def _convolution(otherwise: Any) -> Any:
    """The rule by which convolutions are lowered, as `otherwise` does with those that XLA has right."""

    def rule(context: Any, *operands: Any, **parameters: Any) -> Any:
        if parameters["batch_group_count"] == 1:
            return otherwise(context, *operands, **parameters)
        return mlir.lower_fun(_convolved, multiple_results=False)(context, *operands, **parameters)

    return rule


def _sparse_product(data: Any, rows: Any, columns: Any, x: Any, *, transpose: bool, shape: tuple[int, int]) -> Any:
    """A matrix, given by its elements in some order, times a vector or a matrix."""
    to, of = (columns, rows) if transpose else (rows, columns)
    elements = data.reshape(-1, *(1,) * (x.ndim - 1))
    return jnp.zeros((shape[1 if transpose else 0], *x.shape[1:]), x.dtype).at[to].add(elements * x[of])


def _sparse_product_by_rows(data: Any, columns: Any, begins: Any, x: Any, **parameters: Any) -> Any:
    """The same where the elements are given row by row."""
    rows = jnp.searchsorted(begins, jnp.arange(data.size), side="right") - 1
    return _sparse_product(data, rows, columns, x, **parameters)


def _compiled(otherwise: Any) -> Any:
    """How a program is compiled: as `otherwise` does it, and without tiles where none fits a product of it."""

    def compiled(*arguments: Any, **named: Any) -> Any:
        try:
            return otherwise(*arguments, **named)
        except jax.errors.JaxRuntimeError as error:
            options = [one for one in (*arguments, *named.values()) if hasattr(one, "env_option_overrides")]
            if not options or "No supported config found" not in str(error):
                raise
        given = list(options[0].env_option_overrides)
        options[0].env_option_overrides = [*given, ("xla_gpu_enable_triton_gemm", False)]
        try:
            return otherwise(*arguments, **named)
        finally:
            options[0].env_option_overrides = given

    return compiled


def enable() -> None:
    """Has the host compute factorisations and Fourier transforms, in whatever is compiled from here on."""
    platforms = jax.config.jax_platforms
    # The host is a device, too, where a program names those that it wants.
    if platforms and "cpu" not in platforms.split(","):
        jax.config.update("jax_platforms", f"{platforms},cpu")
    convolution = jax.lax.conv_general_dilated_p
    found = mlir._platform_specific_lowerings["cuda"].get(convolution, mlir._lowerings[convolution])
    mlir.register_lowering(convolution, _convolution(found.rule), platform="cuda")
    # A permutation of an LU factorisation is a kernel in machine code on a GPU.
    for primitive in [*_primitives(linalg, sparse_linalg), jax.lax.fft_p]:
        mlir.register_lowering(primitive, _called_back(primitive), platform="cuda")
    # Without a GPU's own way they are compiled as for any other device.
    for primitive in _primitives(coo, csr, bcoo, bcsr):
        mlir._platform_specific_lowerings["cuda"].pop(primitive, None)
    # These have no other way.
    for kind, function in (("coo", _sparse_product), ("csr", _sparse_product_by_rows)):
        for primitive in (getattr(sparse_products, f"{kind}_sp{operand}_p") for operand in ("mv", "mm")):
            mlir.register_lowering(primitive, mlir.lower_fun(function, multiple_results=False), platform="cuda")
    compiler.backend_compile_and_load = _compiled(compiler.backend_compile_and_load)


def main(arguments: list[str]) -> None:
    """Runs a script or a module with its arguments."""
    if arguments:
        enable()
    _script.run("warpgrind.jax", arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
