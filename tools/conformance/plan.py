"""The cases that test a backend's claims."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from zlib import crc32

import numpy as np
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from ...glow_dialects.claims import Claim, Elements, anything
from ...glow_dialects.elements import type_bytes
from ...glow_dialects.glow.base import Node
from ...glow_dialects.operator import Call, element_of, shape_of, with_shape
from ...glow_dialects.quant import QuantizedType, real_type
from ...interface.backend import Backend
from ...semantics import numpy_dtype
from .cases import Case, Draw, Row, example_of, family_of

TRIES = 8
"""The number of times that cases are drawn until one meets the conditions of a claim."""
ROUNDS = 3
"""The number of times that cases are drawn for types that a claim lists, which are usually few."""


@dataclass
class Subject:
    """An operator that a backend claims, and its cases; or the problem of the claim."""

    operator: type[Node]
    rows: list[Row] = field(default_factory=list)
    cases: list[Case] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def plan(backend: Backend, seed: int, wanted: str = "") -> Iterator[Subject]:
    """
    Yields the operators that a backend claims and whose names contain `wanted`, in the order of the
    claims. Those whose claims have a condition that no case meets are left out: the device may lack
    what they need. The cases depend on the seed, the operator and the element types only.
    """
    for operator, found in backend.claims_by_operator().items():
        if wanted in operator.name:
            subject = _subject(backend, operator, found, seed)
            if subject.cases or subject.problems:
                yield subject


def _subject(backend: Backend, operator: type[Node], claims: Sequence[Claim], seed: int) -> Subject:
    subject = Subject(operator)
    family = family_of(operator)
    if family is None:
        subject.problems.append("no generator of cases; register one in tools/conformance")
        return subject
    for claim in claims:
        rows = family.rows if claim.elements is None else map(example_row, claim.elements)
        for row in dict.fromkeys(rows):
            cases = list(_cases(backend, claim, row, seed))
            if cases:
                subject.rows.append(row)
                subject.cases += cases
            elif claim.elements is not None:
                room = backend.main_memory().bytes
                within = "" if room is None else f" within its {room} bytes"
                subject.problems.append(f"claims {row}, but supports no case of that{within}")
    conditional = any(claim.when is not anything for claim in claims)
    if not (subject.cases or subject.problems or conditional):
        subject.problems.append("supports no case on any element type")
    return subject


def _cases(backend: Backend, claim: Claim, row: Row, seed: int) -> Iterator[Case]:
    """Yields some cases of a row that the backend supports; none if there are none."""
    family = family_of(claim.operator)
    assert family is not None
    rounds = 1 if claim.elements is None else ROUNDS
    for turn in range(TRIES):
        key = crc32(f"{claim.operator.name} {row} {turn}".encode())
        draw = Draw(claim.operator, row, np.random.default_rng([seed, key]))
        try:
            found = list(family.generate(draw))
        except VerifyException:
            found = list(_between_conversions(draw))
        supported = [c for c in found if backend.supports(c.call) and _fits(backend, c)]
        yield from supported
        rounds -= bool(supported)
        if not rounds or not found:
            return


def _fits(backend: Backend, case: Case) -> bool:
    """Returns whether the tensors of a case, and a copy of each, fit into the device's memory."""
    room = backend.main_memory().bytes
    tensors = (*case.call.operands, *case.call.results)
    return room is None or 2 * sum(type_bytes(t) for t in tensors) <= room  # pyright: ignore


def _is_quantized(row: Row) -> bool:
    return any(isinstance(t, QuantizedType) for t in (*row.operands, *row.results))


def _between_conversions(draw: Draw) -> Iterator[Case]:
    """
    Yields cases of a float operator whose operands and results are quantized; none of a row without
    quantized types, which the operator does not admit.
    """
    row, family = draw.row, family_of(draw.operator)
    if not _is_quantized(row) or family is None:
        return
    floats = Row(*(tuple(map(real_type, side)) for side in (row.operands, row.results)))
    try:
        found = list(family.generate(Draw(draw.operator, floats, draw.rng)))
    except VerifyException:
        return
    for case in found:
        operands = [
            with_shape(row.operand(i), shape_of(t)) for i, t in enumerate(case.call.operands)
        ]
        results = [with_shape(row.result(), shape_of(t)) for t in case.call.results]
        call = Call(draw.operator, tuple(operands), tuple(results), case.call.properties)
        arrays = [stored(a, element_of(t)) for a, t in zip(case.arrays, operands, strict=True)]
        yield Case(call, tuple(arrays), case.constants, case.call)


def stored(array: np.ndarray, element: Attribute) -> np.ndarray:
    """
    Returns the nearest stored numbers of a per-tensor quantized type; other arrays as they are.
    """
    if not isinstance(element, QuantizedType):
        return array
    (scale,), (zero_point,) = element.scale_values(), element.zero_point_values()
    low, high = element.storage_min.data, element.storage_max.data
    steps = np.round(array / scale) + zero_point
    return np.clip(steps, low, high).astype(numpy_dtype(element))


def example_row(elements: Elements) -> Row:
    """
    Returns types that a row of a claim admits. Quantized operands after the second are added to
    products and have the scale of these products.
    """
    operands = [example_of(pattern) for pattern in elements.operands]
    for i, addend in enumerate(operands[2:], start=2):
        if isinstance(addend, QuantizedType) and addend.storage == IntegerType(32):
            scale = np.prod([t.scale_values()[0] for t in operands[:2]])  # pyright: ignore
            operands[i] = QuantizedType(addend.storage, addend.expressed, float(scale))
    return Row(tuple(operands), tuple(example_of(pattern) for pattern in elements.results))
