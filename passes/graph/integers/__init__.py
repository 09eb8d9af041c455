"""
The rules that turn a graph in QDQ form into one that computes with integers.

`MOVES` brings quantization and dequantization together, `PRODUCTS` makes products of integers, and
`EPILOGUES` saves work after them. Importing this package registers all rules.
"""

from __future__ import annotations

from . import bounds as _bounds  # noqa: F401
from . import epilogues as _epilogues  # noqa: F401
from . import fixed_point as _fixed_point  # noqa: F401
from . import moves as _moves  # noqa: F401
from . import products as _products  # noqa: F401
from .table import EPILOGUES, INTEGERS, MOVES, PRODUCTS

__all__ = ["EPILOGUES", "INTEGERS", "MOVES", "PRODUCTS"]
