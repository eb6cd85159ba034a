"""Products of matrices that Triton has cuBLAS compute, on the CPU instead.

cuBLAS has NVIDIA's runtime library inside and gives no handle here. Triton does not look whether it has one, so that its own class
ends the process.
"""

# Neither package need be installed where types are checked.
# mypy: disable-error-code="import-not-found, no-any-return, attr-defined"
from __future__ import annotations

import torch


def _product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a.cpu().float() @ b.cpu().float().T


def _write(values: torch.Tensor, to: torch.Tensor) -> None:
    # cuBLAS stays within what floats of eight bits have.
    if to.dtype.itemsize == 1:
        largest = torch.finfo(to.dtype).max
        values = values.clamp(-largest, largest)
    to.copy_(values.to(to.dtype))


class CublasLt:
    """What Triton's class of this name computes: rows of ``a`` meet rows of ``b``."""

    def __init__(self, workspace: torch.Tensor) -> None:
        """The memory that cuBLAS would work in is left alone."""

    def matmul(self, a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> None:
        """``c = a @ b.T``"""
        _write(_product(a, b), c)

    def gemm(self, a: torch.Tensor, b: torch.Tensor, c: torch.Tensor, d: torch.Tensor, alpha: float, beta: float) -> None:
        """``d = alpha * a @ b.T + beta * c``"""
        _write(alpha * _product(a, b) + beta * c.cpu().float(), d)


def replace() -> None:
    """Has Triton take this class, where it is installed."""
    try:
        from triton._C.libtriton import nvidia
    except ImportError:
        return
    if hasattr(nvidia, "cublas"):
        nvidia.cublas.CublasLt = CublasLt
