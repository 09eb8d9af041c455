"""
Decompositions of composite operators into simpler ones, by family of operators.

Importing this package registers all families in `LOWERINGS`.
"""

from __future__ import annotations

from . import attention as _attention  # noqa: F401
from . import matrix as _matrix  # noqa: F401
from . import normalization as _normalization  # noqa: F401
from . import quantization as _quantization  # noqa: F401
from . import reduction as _reduction  # noqa: F401
from . import transposed as _transposed  # noqa: F401
from .data_parallel import lower_data_parallel
from .registry import LOWERINGS, lowering

__all__ = ["LOWERINGS", "lower_data_parallel", "lowering"]
