"""Adjoints of normalisations along an axis, which are shorter in terms of the result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from xdsl.dialects.builtin import DictionaryAttr
from xdsl.ir import SSAValue

from ....glow_dialects.glow.generic import GenericOp
from ....glow_dialects.glow.normalization import LogSoftmaxOp, SoftmaxOp
from ....glow_dialects.python_values import to_attribute
from ..rewriting import Build
from .registry import adjoint

_SOFTMAX = """
y[i.., j at axis] = (r[i.., j at axis] * (d[i.., j at axis] - t[i..])
  if d[i.., j at axis] != t[i..] else 0.0)
where t[i..] = sum(j) (r[i.., j at axis] * d[i.., j at axis]
  if d[i.., j at axis] != 0.0 else 0.0)
"""
"""
The adjoint of a row whose results nothing depends on is zero, also where these are NaN, as those of
a row of which a mask leaves nothing are, for which other numbers are selected.
"""
_LOG_SOFTMAX = """
y[i.., j at axis] = d[i.., j at axis] - (exp(r[i.., j at axis]) * t[i..] if t[i..] != 0.0 else 0.0)
where t[i..] = sum(j) d[i.., j at axis]
"""


def _along(
    axis: int, formula: str, operands: Sequence[SSAValue], build: Build
) -> Mapping[int, SSAValue]:
    return {
        0: build(
            GenericOp,
            *operands,
            formula=" ".join(formula.split()),
            constants=DictionaryAttr({"axis": to_attribute(axis)}),
            result_types=[operands[0].type],
        )
    }


@adjoint(SoftmaxOp)
def softmax(
    node: SoftmaxOp, seed: SSAValue, wanted: AbstractSet[int], build: Build
) -> Mapping[int, SSAValue]:
    return _along(node.axis.value.data, _SOFTMAX, [node.result, seed], build)


@adjoint(LogSoftmaxOp)
def log_softmax(
    node: LogSoftmaxOp, seed: SSAValue, wanted: AbstractSet[int], build: Build
) -> Mapping[int, SSAValue]:
    return _along(node.axis.value.data, _LOG_SOFTMAX, [seed, node.result], build)
