"""
The rules of `glow-simplify-shapes`, by the operator at their root.

Importing this package registers all of them in `SHAPES`.
"""

from __future__ import annotations

from . import broadcasts as _broadcasts  # noqa: F401
from . import concats as _concats  # noqa: F401
from . import pads as _pads  # noqa: F401
from . import reshapes as _reshapes  # noqa: F401
from . import slices as _slices  # noqa: F401
from .table import SHAPES

__all__ = ["SHAPES"]
