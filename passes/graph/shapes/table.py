"""The table of shape rules, together with canonicalization's rules for nodes that move nothing."""

from __future__ import annotations

from ....glow_dialects.glow.shape import (
    BroadcastOp,
    ConcatOp,
    PadOp,
    ReshapeOp,
    SliceOp,
)
from ..canonicalization import shape as identities
from ..rewriting import RuleTable

SHAPES = RuleTable()
"""Rules on nodes that only move data, transposes apart."""

simplification = SHAPES.rule

simplification(ReshapeOp, BroadcastOp)(identities.same_shape)
simplification(SliceOp)(identities.slice_of_everything)
simplification(PadOp)(identities.pad_by_nothing)
simplification(ConcatOp)(identities.concat_of_one)
