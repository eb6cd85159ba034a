"""JAX's factorisations, Fourier transforms and sparse matrices on a simulated device.

XLA has cuSOLVER, cuBLAS and cuFFT compute the first two, which have NVIDIA's runtime library inside and do not run here. With this
module a program that is compiled for the device calls back to the host for them, where JAX's own kernels for the CPU compute them with
the CPU's rounding. Sparse matrices are compiled for the device instead of calling cuSPARSE. All else runs as without this module,
but for convolutions in groups of the batch, as in gradients of grouped and depthwise ones: without cuDNN XLA forgets the groups, and
they are compiled as groups of features.

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
from jax._src.interpreters import mlir
from jax._src.lax import linalg
from jax.experimental.sparse import coo, csr
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
    for primitive in _primitives(coo, csr):
        mlir._platform_specific_lowerings["cuda"].pop(primitive, None)


def main(arguments: list[str]) -> None:
    """Runs a script or a module with its arguments."""
    if arguments:
        enable()
    _script.run("warpgrind.jax", arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
