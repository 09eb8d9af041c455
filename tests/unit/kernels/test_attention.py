"""Attention agrees with the interpreter, on several machines."""

from __future__ import annotations

import glow
import numpy as np
import pytest
from glow.glow_dialects.glow.attention import AttentionOp, MaskedAttentionOp
from glow.glow_dialects.operator import with_shape
from glow.tests.support.native import apply, kernels_passes
from glow.tests.support.operator_kernels import check, check_all, one_node, random
from glow.tests.support.seeds import numbered
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import f32

# images, query positions, key positions, heads, width, width of the value
CASES = [
    (1, 1, 7, 1, 4, 4),
    (2, 5, 9, 3, 8, 6),
    (1, 16, 16, 2, 32, 32),
    (1, 21, 40, 2, 5, 17),
    (2, 33, 19, 1, 20, 3),
    (1, 1, 100, 4, 16, 16),
    (1, 8, 1, 1, 1, 1),
]
BLOCKS = (1, 53, 301, 1, 3, 17)
"""Two blocks of keys, and rows that no register tile divides."""


def operands(case: tuple[int, ...], dtype: type) -> list[np.ndarray]:
    n, rows, columns, heads, width, out = case
    shapes = [(n, rows, heads, width), (n, columns, heads, width), (n, columns, heads, out)]
    return [random(i, *shape, dtype=dtype) for i, shape in enumerate(shapes)]


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.float64], ids=str)
def test_attention(case: tuple[int, ...], dtype: type):
    check(AttentionOp, *operands(case, dtype), scale=0.4)


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float16], ids=str)
def test_masked_attention(case: tuple[int, ...], dtype: type):
    n, rows, columns, heads, *_ = case
    mask = random(4, n, heads, rows, columns, dtype=dtype)
    masked = numbered(5).random(mask.shape) < 0.5
    masked[..., 0] = False
    mask[..., 0] = 0
    masks = [np.where(masked, dtype(low), mask) for low in (-np.inf, -3e4, -2.0)]
    check_all(MaskedAttentionOp, [[*operands(case, dtype), m] for m in masks], scale=0.4)


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=str)
def test_scores_that_lie_far_apart(case: tuple[int, ...], dtype: type, rng: np.random.Generator):
    """Powers that are below the least normal number, or nearly, do not matter."""
    n, rows, columns, heads, *_ = case
    spread = rng.random((n, heads, rows, columns)).astype(dtype)
    masks = [-factor * spread for factor in (30.0, 64.0, 90.0, 700.0)]
    check_all(MaskedAttentionOp, [[*operands(case, dtype), m] for m in masks], scale=0.4)


def test_keys_in_blocks():
    check(AttentionOp, *operands(BLOCKS, np.float32), scale=0.4)


@pytest.mark.parametrize("low", [-np.inf, np.finfo(np.float32).min])
def test_first_keys_do_not_count(low: float):
    """No row has a score in the first block of keys."""
    n, rows, columns, heads, *_ = BLOCKS
    mask = np.zeros((n, heads, rows, columns), np.float32)
    mask[..., :290] = low
    check(MaskedAttentionOp, *operands(BLOCKS, np.float32), mask, scale=0.4)


HIDING = [(2, 101, 307, 2, 5, 17), (2, 13, 307, 2, 5, 17), (1, 1, 307, 3, 5, 17)]
"""Four blocks of masked keys, the last one shorter, and three, two and one of rows."""


def hiding_mask(case: tuple[int, ...], kind: str, low: float) -> np.ndarray:
    """Returns a mask that hides most blocks of keys from most rows."""
    n, rows, columns, heads, *_ = case
    i, j = np.arange(rows)[:, None] + columns - rows, np.arange(columns)
    hidden = {
        "causal": j > i,
        "window": abs(i - j) > 5,
        "padding": np.broadcast_to(j > 99, (rows, columns)),
        "none": np.zeros((rows, columns), bool),
    }
    mask = random(3, n, heads, rows, columns)
    mask[:, :, hidden[kind]] = low
    return mask


@pytest.mark.parametrize("case", HIDING, ids=str)
@pytest.mark.parametrize("low", [-np.inf, np.finfo(np.float32).min, -1e4])
def test_masks_that_hide_blocks(case: tuple[int, ...], low: float):
    masks = [hiding_mask(case, kind, low) for kind in ("causal", "window", "padding", "none")]
    without = masks[1].copy()
    without[:, :, ::9] = np.finfo(np.float32).min  # rows that see no key have the mean of all
    given = operands(case, np.float32)
    check_all(MaskedAttentionOp, [[*given, m] for m in (*masks, without)], scale=0.4)


@pytest.mark.parametrize("rows", [1, 30])
def test_masks_that_hide_blocks_from_groups_of_heads(rows: int):
    case = (1, rows, 307, 4, 5, 5)
    query, key, value = operands(case, np.float32)
    masks = [hiding_mask(case, kind, -np.inf) for kind in ("window", "padding")]
    given = query, key[:, :, :2], value[:, :, :2]
    check_all(MaskedAttentionOp, [[*given, mask] for mask in masks], scale=0.4)


@pytest.mark.parametrize("case", HIDING, ids=str)
def test_hidden_blocks_are_not_read(case: tuple[int, ...]):
    mask = hiding_mask(case, "window", -np.inf)
    query, key, value = operands(case, np.float32)
    assert np.isneginf(mask[..., :100]).all()
    key[:, :96], value[:, :96] = np.nan, np.inf
    given = query, key, value, mask
    types = [with_shape(f32, a.shape) for a in given]
    module = one_node(MaskedAttentionOp, types, scale=0.4)
    (found,) = glow.compile(module, cache=False)(*given)
    assert np.isfinite(found).all()


@pytest.mark.parametrize("case", HIDING, ids=str)
def test_nan_in_a_mask_that_hides(case: tuple[int, ...]):
    mask = hiding_mask(case, "window", -np.inf)
    mask[0, 1, 0, 100] = np.nan
    check(MaskedAttentionOp, *operands(case, np.float32), mask, scale=0.4)


@pytest.mark.parametrize("rows", [1, 5, 37])
@pytest.mark.parametrize("members", [2, 3])
def test_groups_of_heads_with_one_key(rows: int, members: int):
    groups, keys = 2, 41
    shapes = [(2, rows, groups * members, 5), (2, keys, groups, 5), (2, keys, groups, 7)]
    shapes.append((2, groups * members, rows, keys))
    check(MaskedAttentionOp, *(random(i, *s) for i, s in enumerate(shapes)), scale=0.4)


@pytest.mark.parametrize("case", [CASES[0], CASES[3], CASES[4], BLOCKS], ids=str)
@pytest.mark.parametrize("safe", [False, True])
def test_rows_without_a_position(case: tuple[int, ...], safe: bool):
    """They give NaN or zeros; so does a row with NaN in a score."""
    n, rows, columns, heads, *_ = case
    mask = random(4, n, heads, rows, columns, dtype=np.float32)
    mask[:, :, rows // 2] = -np.inf
    query, key, value = operands(case, np.float32)
    query[:, 0, 0, 0] = np.nan
    check(MaskedAttentionOp, query, key, value, mask, scale=0.4, safe=safe)


def test_nan_in_a_score_shows_in_its_row():
    query, key, value = operands((1, 16, 16, 2, 32, 32), np.float32)
    query[0, 5, 1, 3] = np.nan
    check(AttentionOp, query, key, value, scale=0.4)


def test_no_power_is_below_the_least_normal_number():
    """An argument of exp whose power would be below is replaced, and the result is zero."""
    types = [with_shape(f32, a.shape) for a in operands(CASES[2], np.float32)]
    module = one_node(AttentionOp, types, scale=0.4)
    apply(module, "glow-irgen,glow-eliminate-copies,glow-allocate," + kernels_passes())
    arguments = [op.operands[0].owner for op in module.walk() if isinstance(op, math.ExpOp)]
    assert arguments
    for least in arguments:
        assert isinstance(least, arith.MinimumfOp)
        assert isinstance(least.lhs.owner, arith.MaximumfOp)
