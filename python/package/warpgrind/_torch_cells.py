"""What PyTorch has for GPUs only, in operators that a CPU has: recurrent cells, fused attention, softmax of one type into another,
histograms of whole numbers, and questions for cuDNN."""

# PyTorch need not be installed where types are checked.
# mypy: disable-error-code="import-not-found, misc, no-any-return, attr-defined, no-untyped-call"
from __future__ import annotations

from collections.abc import Callable
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


def _widening(softmax: Any) -> Callable[[Tensor, int, bool], Tensor]:
    def computed(x: Tensor, dim: int, half_to_float: bool) -> Tensor:
        return softmax(x.float() if half_to_float else x, dim, False)

    return computed


def _narrowing(backward: Any) -> Callable[[Tensor, Tensor, int, torch.dtype], Tensor]:
    def computed(grad: Tensor, output: Tensor, dim: int, input_dtype: torch.dtype) -> Tensor:
        return backward(grad.to(output.dtype), output, dim, output.dtype).to(input_dtype)

    return computed


def _attention(
    q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None, dropout: float, causal: bool, scale: float | None
) -> tuple[Tensor, Tensor]:
    """What attention gives, and the logarithms of its sums."""
    if dropout:
        raise NotImplementedError("dropout")
    groups = q.size(1) // k.size(1)
    k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
    return aten._scaled_dot_product_flash_attention_for_cpu(q, k, v, 0.0, causal, attn_mask=bias, scale=scale)


def _attention_backward(
    grad: Tensor,
    parts: tuple[Tensor, Tensor, Tensor, Tensor | None],
    out: Tensor,
    causal: bool,
    scale: float | None,
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """The gradients of queries, keys, values and the bias."""
    q, k, v, bias = parts
    groups = q.size(1) // k.size(1)
    wide_q, wide_grad = q.float(), grad.float()
    wide_k, wide_v = (part.float().repeat_interleave(groups, 1) for part in (k, v))
    scale = q.size(-1) ** -0.5 if scale is None else scale
    scores = wide_q @ wide_k.mT * scale
    if bias is not None:
        scores = scores + bias
    if causal:
        scores = scores.masked_fill(torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1), float("-inf"))
    weights = scores.softmax(-1)
    slope = weights * (wide_grad @ wide_v.mT - (wide_grad * out).sum(-1, keepdim=True))

    def of_its_heads(gradient: Tensor, part: Tensor) -> Tensor:
        return gradient.unflatten(1, (part.size(1), -1)).sum(2).to(part.dtype)

    of_q = (slope @ wide_k * scale).to(q.dtype)
    of_k, of_v = of_its_heads(slope.mT @ wide_q * scale, k), of_its_heads(weights.mT @ wide_grad, v)
    return of_q, of_k, of_v, None if bias is None else slope.sum_to_size(bias.shape).to(bias.dtype)


def _flash(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    dropout: float = 0.0,
    causal: bool = False,
    debug: bool = False,
    *,
    scale: float | None = None,
) -> tuple[Any, ...]:
    output, sums = _attention(q, k, v, None, dropout, causal, scale)
    empty = [torch.empty(0, dtype=torch.int64) for _ in range(4)]
    return output, sums, empty[0], empty[1], q.size(2), k.size(2), empty[2], empty[3], q.new_empty(0)


def _flash_backward(
    grad: Tensor, q: Tensor, k: Tensor, v: Tensor, out: Tensor, *rest: Any, scale: float | None = None
) -> tuple[Tensor, ...]:
    return _attention_backward(grad, (q, k, v, None), out, rest[6], scale)[:3]


def _efficient(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    bias: Tensor | None,
    log_sums: bool,
    dropout: float = 0.0,
    causal: bool = False,
    *,
    scale: float | None = None,
) -> tuple[Tensor, ...]:
    output, sums = _attention(q, k, v, bias, dropout, causal, scale)
    return output, sums, torch.zeros((), dtype=torch.int64), torch.zeros((), dtype=torch.int64)


def _efficient_backward(
    grad: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    bias: Tensor | None,
    out: Tensor,
    sums: Tensor,
    seed: Tensor,
    offset: Tensor,
    dropout: float,
    wanted: list[bool],
    causal: bool = False,
    *,
    scale: float | None = None,
) -> tuple[Tensor | None, ...]:
    gradients = _attention_backward(grad, (q, k, v, bias), out, causal, scale)
    return tuple(gradient if wants else None for gradient, wants in zip(gradients, wanted))


def _no(*_arguments: Any) -> bool:
    return False


def _histogram(values: Tensor, *bins: Any, **named: Any) -> Tensor:
    numbers = values if values.is_floating_point() else values.double()
    return aten.histc.default(numbers, *bins, **named).to(values.dtype)


#: What computes these operators.
CELLS: dict[Any, Any] = {
    aten.histc.default: _histogram,
    aten._thnn_fused_lstm_cell.default: _lstm,
    aten._thnn_fused_lstm_cell_backward_impl.default: _lstm_backward,
    aten._thnn_fused_gru_cell.default: _gru,
    aten._thnn_fused_gru_cell_backward.default: _gru_backward,
    aten._softmax.default: _widening(aten._softmax.default),
    aten._log_softmax.default: _widening(aten._log_softmax.default),
    aten._softmax_backward_data.default: _narrowing(aten._softmax_backward_data.default),
    aten._log_softmax_backward_data.default: _narrowing(aten._log_softmax_backward_data.default),
    aten._scaled_dot_product_flash_attention.default: _flash,
    aten._scaled_dot_product_flash_attention_backward.default: _flash_backward,
    aten._scaled_dot_product_efficient_attention.default: _efficient,
    aten._scaled_dot_product_efficient_attention_backward.default: _efficient_backward,
    aten._use_cudnn_ctc_loss.default: _no,
    aten._use_cudnn_ctc_loss.Tensor: _no,
    aten._use_miopen_ctc_loss.default: _no,
    aten._use_miopen_ctc_loss.Tensor: _no,
}
