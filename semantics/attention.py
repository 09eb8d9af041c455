"""Attention."""

from __future__ import annotations

import numpy as np

from ..glow_dialects.glow.attention import AttentionOp, MaskedAttentionOp
from ..glow_dialects.operator import Call
from .registry import meaning, wide


@meaning(AttentionOp, MaskedAttentionOp)
def attention(
    call: Call, q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray | None = None
) -> np.ndarray:
    q, k, v = (wide(a).swapaxes(1, 2) for a in (q, k, v))
    k, v = (np.repeat(a, AttentionOp.members(call), axis=1) for a in (k, v))
    scores = np.matmul(q, k.swapaxes(2, 3)) * q.dtype.type(call.float("scale"))
    if mask is not None:
        scores = scores + wide(mask)
    powers = np.exp(scores - scores.max(-1, keepdims=True, initial=-np.inf))
    shares = powers / powers.sum(-1, keepdims=True)
    if call.get("safe"):
        shares = np.where(np.isnan(shares), shares.dtype.type(0), shares)
    return np.matmul(shares, v).swapaxes(1, 2)
