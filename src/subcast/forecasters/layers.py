"""The operations in which the models spend most of their time, written for speed."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

_LEVELS = 1 << 16


def dropout(x: Tensor, share: float, training: bool) -> Tensor:
    """Set a share of the entries to 0 and scale the others to keep the mean, as `torch.nn.functional.dropout` does.

    On a CPU, torch spends most of the time on drawing one random float per entry. Here four entries share one random
    number of 64 bits, so the share is exact to 1 / 65,536.
    """
    if not training or share == 0.0:
        return x
    if x.device.type != "cpu":
        return F.dropout(x, share)
    return x * dropout_mask(x.shape, share)


def dropout_mask(shape: torch.Size | tuple[int, ...], share: float) -> Tensor:
    """Return a mask on the CPU that is 0 with probability `share` and 1 / (1 - share) elsewhere."""
    count = torch.Size(shape).numel()
    threshold = round(share * _LEVELS)
    bits = torch.empty((count + 3) // 4, dtype=torch.int64).random_(-(2**63), None)
    kept = torch.empty(count)
    torch.ge(bits.view(torch.int16)[:count], threshold - _LEVELS // 2, out=kept)
    return kept.mul_(_LEVELS / (_LEVELS - threshold)).view(shape)


def time_conv(x: Tensor, weight: Tensor, bias: Tensor, padding: tuple[int, int] = (0, 0)) -> Tensor:
    """Convolve over time: y[:, j] = bias + sum_i x[:, j + i - padding[0]] weight[i], with zeros outside.

    Each output step is one matrix product with consecutive steps of x as they lie in memory, so nothing is copied.

    Parameters
    ----------
    x
        [r, t, c], contiguous
    weight
        [taps, c, d]
    bias
        [d]
    padding
        number of zero steps before and after

    Returns
    -------
    Tensor
        [r, t + sum(padding) - taps + 1, d]
    """
    result: Tensor = _TimeConv.apply(x, weight, bias, padding)
    return result


class _TimeConv(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, padding: tuple[int, int]) -> Tensor:
        r, t, c = x.shape
        taps, _, d = weight.shape
        steps = t + sum(padding) - taps + 1
        flat, kernel = x.reshape(r, t * c), weight.reshape(taps * c, d)
        y = x.new_empty(r, steps * d)
        for j, (first, last, skip) in enumerate(_stretches(steps, taps, t, padding[0])):
            torch.addmm(
                bias,
                flat[:, first * c : last * c],
                kernel[skip * c : (skip + last - first) * c],
                out=y[:, j * d : (j + 1) * d],
            )
        ctx.save_for_backward(flat, kernel)
        ctx.sizes = (t, c, taps, d, steps, padding[0])
        return y.view(r, steps, d)

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None, None]:
        flat, kernel = ctx.saved_tensors
        t, c, taps, d, steps, before = ctx.sizes
        dy = dy.reshape(-1, steps * d)
        dx = torch.zeros_like(flat) if ctx.needs_input_grad[0] else None
        dkernel = torch.zeros_like(kernel)
        for j, (first, last, skip) in enumerate(_stretches(steps, taps, t, before)):
            slope = dy[:, j * d : (j + 1) * d]  # [r, d]
            rows = slice(skip * c, (skip + last - first) * c)
            dkernel[rows].addmm_(flat[:, first * c : last * c].T, slope)
            if dx is not None:
                dx[:, first * c : last * c].addmm_(slope, kernel[rows].T)
        dbias = dy.sum(0).view(steps, d).sum(0)
        return None if dx is None else dx.view(-1, t, c), dkernel.view(taps, c, d), dbias, None


def _stretches(steps: int, taps: int, t: int, before: int) -> list[tuple[int, int, int]]:
    """Return per output step the start and end of its input steps, and how many taps lie before the first of them."""
    stretches = []
    for j in range(steps):
        start = j - before
        first, last = max(start, 0), min(start + taps, t)
        stretches.append((first, last, first - start) if last > first else (0, 0, 0))
    return stretches


def gate(z: Tensor, share: float, training: bool) -> Tensor:
    """Return tanh(filter) * sigmoid(gate), then dropout, for z [r, t, 2, c] that holds (-2 filter, gate).

    tanh(v) = 1 - 2 sigmoid(-2 v), and the sigmoid is several times cheaper on a CPU, so one sigmoid over z computes
    both. The factor -2 costs nothing, because it is part of the weights that produce z.
    """
    if torch.is_grad_enabled() and z.requires_grad:
        mask = None
        if training and share > 0.0:
            shape = (*z.shape[:2], z.shape[3])
            mask = dropout_mask(shape, share) if z.device.type == "cpu" else F.dropout(z.new_ones(shape), share)
        result: Tensor = _Gate.apply(z, mask)
        return result
    z = z.sigmoid_()
    return dropout(torch.addcmul(z[:, :, 1], z[:, :, 0], z[:, :, 1], value=-2), share, training)


class _Gate(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(ctx: Any, z: Tensor, mask: Tensor | None) -> Tensor:
        s = z.sigmoid()  # [r, t, 2, c]
        h = torch.addcmul(s[:, :, 1], s[:, :, 0], s[:, :, 1], value=-2)  # [r, t, c]
        ctx.save_for_backward(s, mask)
        return h if mask is None else h.mul_(mask)

    @staticmethod
    def backward(ctx: Any, dh: Tensor) -> tuple[Tensor, None]:
        s, mask = ctx.saved_tensors
        slope = dh if mask is None else dh * mask
        filtered, gated = s[:, :, 0], s[:, :, 1]
        dz = torch.addcmul(s, s, s, value=-1)  # s (1 - s), [r, t, 2, c]
        dz[:, :, 0].mul_(gated).mul_(slope).mul_(-2)
        dz[:, :, 1].mul_(torch.addcmul(slope, slope, filtered, value=-2))
        return dz, None
