"""JAX's factorisations, Fourier transforms, sparse matrices, grouped convolutions and odd products under ``warpgrind exec``, beside the
CPU's: run by ``test_jax.py`` with ``warpgrind.jax``.
"""

import sys
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import sparse
from jax.experimental.sparse.linalg import spsolve
from jax.scipy import linalg

#: Which the CPU does not have.
JACOBI = jax.lax.linalg.EighImplementation.JACOBI

random = np.random.RandomState(7)
a = random.randn(6, 6).astype(np.float32)
tall = random.randn(9, 4).astype(np.float32)
symmetric = a @ a.T + 6 * np.eye(6, dtype=np.float32)
several = np.stack([symmetric, 2 * symmetric])
z = a + 1j * a.T
diagonals = [random.rand(6).astype(np.float32) + offset for offset in (0, 4, 0)]



def asked_of_gpus(x: Any) -> list[Any]:
    """A matrix as BCOO and BCSR, whose products are cuSPARSE's on a GPU where that is asked for."""
    jax.config.update("jax_bcoo_cusparse_lowering", True)
    whole = sparse.BCOO.fromdense(x, nse=36)
    return [whole, sparse.BCSR.from_bcoo(whole)]


#: Each result, as a function of arrays.
CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "cholesky": (jnp.linalg.cholesky, (symmetric,)),
    "cholesky of several": (jnp.linalg.cholesky, (several,)),
    "qr": (lambda x: jnp.abs(jnp.linalg.qr(x)[1]), (tall,)),
    "qr, raw": (lambda x: jnp.linalg.qr(x, mode="raw"), (tall,)),
    "lu": (linalg.lu, (a,)),
    "solve": (jnp.linalg.solve, (a, tall[:6])),
    "solve, complex": (jnp.linalg.solve, (z, z[0])),
    "inverse in vmap": (jax.vmap(jnp.linalg.inv), (several,)),
    "determinant": (jnp.linalg.slogdet, (a,)),
    "singular values": (lambda x: jnp.linalg.svd(x, compute_uv=False), (tall,)),
    "pseudo-inverse": (jnp.linalg.pinv, (tall,)),
    "least squares": (lambda x, y: jnp.linalg.lstsq(x, y)[0], (tall, tall[:, 0])),
    "eigenvalues": (jnp.linalg.eigvalsh, (symmetric,)),
    "eigenvalues by a way of GPUs": (
        lambda x: jax.lax.linalg.eigh(x, implementation=None if jax.config.jax_default_device else JACOBI)[1],
        (symmetric,),
    ),
    "eigenvalues, general": (lambda x: jnp.sort(jnp.abs(jnp.linalg.eigvals(x))), (a,)),
    "triangular": (lambda x, y: linalg.solve_triangular(x, y, lower=True), (symmetric, a)),
    "tridiagonal": (lambda x, y: jax.lax.linalg.tridiagonal_solve(*x, y), (diagonals, a)),
    "exponential": (linalg.expm, (a / 4,)),
    "polar": (linalg.polar, (symmetric,)),
    "schur": (lambda x: jnp.sort(jnp.abs(jnp.diag(linalg.schur(x, output="complex")[0]))), (symmetric,)),
    "fft": (jnp.fft.fft, (z,)),
    "fft, real and back": (lambda x: jnp.fft.irfft2(jnp.fft.rfft2(x) * 2), (a,)),
    "convolution by fft": (jax.scipy.signal.fftconvolve, (a, tall)),
    "gradient of a factorisation": (jax.grad(lambda x: jnp.linalg.cholesky(x).sum() + jnp.linalg.slogdet(x)[1]), (symmetric,)),
    "gradient of a transform": (jax.grad(lambda x: (jnp.abs(jnp.fft.fft(x)) ** 3).sum()), (a,)),
    "a solution in each step of a scan": (
        lambda x, ys: jax.lax.scan(lambda carry, y: (jnp.linalg.solve(x, carry) + y, carry.sum()), ys[0], ys),
        (symmetric, a),
    ),
    "sparse matrices": (
        lambda x, y: [kind.fromdense(x, nse=20) @ y for kind in (sparse.COO, sparse.CSR, sparse.BCOO)],
        (np.where(a > 0.3, a, 0), a),
    ),
    "sparse products of GPUs": (
        lambda x, y: [one @ other for one in asked_of_gpus(x) for other in (y, y[:, 0])] + [asked_of_gpus(x)[0].T @ y],
        (np.where(a > 0.3, a, 0), a),
    ),
    "a sparse system": (
        spsolve,
        (np.arange(1, 7, dtype=np.float32), np.arange(6, dtype=np.int32), np.arange(7, dtype=np.int32), a[0]),
    ),
    # No tile fits rows of three times five: such a program is compiled again without tiles.
    "a product of odd dimensions put together": (
        lambda x, y: jax.grad(lambda x, y: (jnp.einsum("bhtd,hdo->bto", x, y) ** 3).sum(), (0, 1))(x, y),
        (random.randn(3, 2, 5, 8).astype(np.float32), random.randn(2, 8, 16).astype(np.float32)),
    ),
    "an image in another size": (
        lambda x: jax.image.resize(x, (2, 31, 23, 3), "bicubic"),
        (random.randn(2, 16, 16, 3).astype(np.float32),),
    ),
    "random numbers with a covariance": (
        lambda c: jax.random.multivariate_normal(jax.random.key(3), jnp.zeros(6), c, (4,)),
        (symmetric,),
    ),
}

#: Convolutions that XLA has wrong without cuDNN: strides, padding, dilation of images and of filters, groups of features and of the batch.
CONVOLUTIONS = [
    ((1, 1), ((0, 0), (0, 0)), (1, 1), (1, 1), 1, 2),
    ((2, 1), ((1, 1), (1, 0)), (1, 1), (2, 1), 1, 2),
    ((1, 2), ((-1, 2), (0, -1)), (2, 2), (1, 1), 1, 2),
    ((1, 1), ((1, 1), (1, 0)), (1, 1), (1, 1), 2, 1),
    ((1, 2), ((0, 0), (0, 0)), (1, 1), (2, 1), 3, 1),
]


def convolve(parameters: tuple[Any, ...], layout: tuple[str, str, str]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """A convolution with both of its gradients, and what it takes."""
    strides, padding, image_dilation, filter_dilation, features, batches = parameters

    def function(image: Any, kernel: Any) -> Any:
        def convolution(image: Any, kernel: Any) -> Any:
            return jax.lax.conv_general_dilated(
                image, kernel, strides, padding, image_dilation, filter_dilation, layout, features, batches
            )

        result, back = jax.vjp(convolution, image, kernel)
        return result, back(jnp.cos(result))

    image, kernel = random.randn(4, 6, 4, 7), random.randn(6, 6 // features, 2, 3)
    orders = [["NCHW".index(name) for name in layout[0]], ["OIHW".index(name) for name in layout[1]]]
    arrays = (array.transpose(order) for array, order in zip((image, kernel), orders, strict=True))
    return function, tuple(array.astype(np.float32) for array in arrays)


for number, parameters in enumerate(CONVOLUTIONS):
    CASES[f"convolution {number}"] = convolve(parameters, ("NCHW", "OIHW", "NCHW"))
    CASES[f"convolution {number}, channels last"] = convolve(parameters, ("NHWC", "HWIO", "NHWC"))


def main() -> None:
    assert jax.devices()[0].platform == "gpu", jax.devices()
    cpu = jax.local_devices(backend="cpu")[0]
    for name, (function, arrays) in CASES.items():
        with jax.default_matmul_precision("highest"):
            on_device = jax.jit(function)(*arrays)
            assert {leaf.device.platform for leaf in jax.tree.leaves(on_device)} == {"gpu"}, name
            with jax.default_device(cpu):
                expected = jax.jit(function)(*arrays)
        for one, other in zip(jax.tree.leaves(on_device), jax.tree.leaves(expected), strict=True):
            np.testing.assert_allclose(one, other, rtol=2e-3, atol=2e-4, err_msg=name)
    print(f"{len(CASES)} results as expected", *sys.argv[1:])


main()
