"""
The rules of graph nodes for xDSL's `canonicalize`: small simplifications that always pay.

A rule may not change a result except in two ways: the sign of a zero (`x + 0` is `x`, though `-0 +
0` is `+0`), and an operation of several roundings may become one of fewer (`pow(x, 2)` is `x * x`).
A cube is two products, with a rounding each, as other runtimes compute it.
NaN and infinity stay what they were: `x * 0` is 0 only for integers, and bounds merge only as
`clip` treats NaN. Sums and products of floats are not reassociated.

Importing this package gives all nodes their patterns; `universe` does that before `canonicalize`.
"""

from __future__ import annotations

from ....glow_dialects.operator import CANONICALIZATION
from ..rewriting import ApplyRules
from . import arithmetic as _arithmetic  # noqa: F401
from . import bounds as _bounds  # noqa: F401
from . import control as _control  # noqa: F401
from . import logic as _logic  # noqa: F401
from . import recurrent as _recurrent  # noqa: F401
from . import shape as _shape  # noqa: F401
from .table import CANONICAL

_PATTERN = ApplyRules(CANONICAL)
for _operator in CANONICAL:
    CANONICALIZATION.add(_operator, (_PATTERN,))
