"""What PyTorch has for GPUs only, in operators that a CPU has: recurrent cells, and questions for cuDNN."""

# PyTorch need not be installed where types are checked.
# mypy: disable-error-code="import-not-found, misc, no-any-return, attr-defined, no-untyped-call"
from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

aten = torch.ops.aten


def _lstm(
    input_gates: Tensor,
    hidden_gates: Tensor,
    cx: Tensor,
    input_bias: Tensor | None = None,
    hidden_bias: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    gates = input_gates + hidden_gates
    for bias in (input_bias, hidden_bias):
        gates = gates if bias is None else gates + bias
    i, f, g, o = gates.chunk(4, 1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    cy = f * cx + i * g
    return o * cy.tanh(), cy, torch.cat((i, f, g, o), 1)


def _lstm_backward(
    grad_hy: Tensor | None, grad_cy: Tensor | None, cx: Tensor, cy: Tensor, workspace: Tensor, has_bias: bool
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    if grad_hy is None and grad_cy is None:
        return None, None, None
    i, f, g, o = workspace.chunk(4, 1)
    grad_hy = torch.zeros_like(cx) if grad_hy is None else grad_hy
    curved = cy.tanh()
    grad = grad_hy * o * (1 - curved * curved)
    grad = grad if grad_cy is None else grad + grad_cy
    gates = torch.cat(
        (
            grad * g * i * (1 - i),
            grad * cx * f * (1 - f),
            grad * i * (1 - g * g),
            grad_hy * curved * o * (1 - o),
        ),
        1,
    )
    return gates, grad * f, gates.sum(0) if has_bias else None


def _gru(
    input_gates: Tensor,
    hidden_gates: Tensor,
    hx: Tensor,
    input_bias: Tensor | None = None,
    hidden_bias: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    inputs = input_gates if input_bias is None else input_gates + input_bias
    hidden = hidden_gates if hidden_bias is None else hidden_gates + hidden_bias
    (ir, iz, input_new), (hr, hz, hidden_new) = inputs.chunk(3, 1), hidden.chunk(3, 1)
    r, z = (ir + hr).sigmoid(), (iz + hz).sigmoid()
    n = (input_new + r * hidden_new).tanh()
    return n + z * (hx - n), torch.cat((r, z, n, hx, hidden_new), 1)


def _gru_backward(
    grad_hy: Tensor, workspace: Tensor, has_bias: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor | None, Tensor | None]:
    r, z, n, hx, hidden_new = workspace.chunk(5, 1)
    grad_new = grad_hy * (1 - z) * (1 - n * n)
    grad_r = grad_new * hidden_new * r * (1 - r)
    grad_z = grad_hy * (hx - n) * z * (1 - z)
    inputs = torch.cat((grad_r, grad_z, grad_new), 1)
    hidden = torch.cat((grad_r, grad_z, grad_new * r), 1)
    biases = (inputs.sum(0), hidden.sum(0)) if has_bias else (None, None)
    return inputs, hidden, grad_hy * z, *biases


def _no(*_arguments: Any) -> bool:
    return False


#: What computes these operators.
CELLS: dict[Any, Any] = {
    aten._thnn_fused_lstm_cell.default: _lstm,
    aten._thnn_fused_lstm_cell_backward_impl.default: _lstm_backward,
    aten._thnn_fused_gru_cell.default: _gru,
    aten._thnn_fused_gru_cell_backward.default: _gru_backward,
    aten._use_cudnn_ctc_loss.default: _no,
    aten._use_cudnn_ctc_loss.Tensor: _no,
    aten._use_miopen_ctc_loss.default: _no,
    aten._use_miopen_ctc_loss.Tensor: _no,
}
