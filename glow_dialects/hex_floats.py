"""
Hexadecimal floats in dense literals.

MLIR writes a float that has no short decimal form as its bits: `dense<0xff800000> : vector<4xf32>`
is minus infinity. xDSL 0.74 prints that, but its parser takes the digits for an integer and
converts that, so a constant would change by going through text. `read_hex_floats` corrects the
parser for the whole process; our own contexts call it, importing our dialects does not.
"""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import AnyFloat
from xdsl.parser.attribute_parser import AttrParser

_Element = AttrParser._TensorLiteralElement
_original = _Element.to_type


def _to_type(self: Any, parser: AttrParser, type: Any) -> Any:
    is_bits = isinstance(self.value, int) and self.span.text.lower().startswith("0x")
    if not (is_bits and isinstance(type, AnyFloat)):
        return _original(self, parser, type)
    try:
        bits = self.value.to_bytes(type.compile_time_size, "little")
    except OverflowError:
        parser.raise_error(f"expected at most {type.bitwidth} bits", at_position=self.span)
    return type.unpack(bits, 1)[0]


def read_hex_floats() -> None:
    """Corrects xDSL's parser. Calling it again changes nothing."""
    _Element.to_type = _to_type
