"""
Symbolic sizes as attributes: of the dimensions of a tensor type that are no numbers, and of
properties such as the sizes of a slice.

`tensor<?x?x384xf32, #glow.dims<batch, 2 * seq + 1>>` has a size for each `?`. Symbols are 1 or more
unless the attribute says otherwise: `#glow.dims<batch, seq where seq from 2 to 512>`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import inf

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Attribute, Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ..wording import counted
from .extents import Extent, Size, bounds, symbol_size
from .size_decisions import Question, decided
from .symbol import Symbol


@irdl_attr_definition
class DimsAttr(Data[tuple[Size, ...]]):
    """Sizes that may depend on symbols."""

    name = "glow.dims"

    def verify(self) -> None:
        symbols_in(self.data)

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> tuple[Size, ...]:
        with parser.in_angle_brackets():
            return parse_sizes(parser)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(text_of_sizes(self.data))


def text_of_sizes(sizes: Sequence[Size]) -> str:
    """Returns `batch, 2 * seq + 1 where seq from 2 to 512`."""
    ranged = [s for s in symbols_in(sizes).values() if (s.low, s.high) != (1, None)]
    text = ", ".join(map(str, sizes))
    ranges = ", ".join(f"{symbol} {symbol.range_text}" for symbol in ranged)
    return f"{text} where {ranges}" if ranges else text


def sizes_at(sizes: Sequence[Size], values: Mapping[str, Size]) -> tuple[Size, ...]:
    """Returns sizes for these values of symbols, by name; other symbols stay."""
    return tuple(size.at(values) if isinstance(size, Extent) else size for size in sizes)


def symbols_in(sizes: Sequence[Size]) -> dict[str, Symbol]:
    """
    Returns the symbols that sizes depend on, by name. Raises VerifyException for one with two
    ranges.
    """
    found: dict[str, Symbol] = {}
    for size in sizes:
        symbols = sorted(size.symbols if isinstance(size, Extent) else (), key=lambda s: s.name)
        for symbol in symbols:
            if found.setdefault(symbol.name, symbol) != symbol:
                raise VerifyException(
                    f"expected one range of symbol {symbol}, found "
                    f"{found[symbol.name].range_text} and {symbol.range_text}"
                )
    return found


def parse_sizes(parser: AttrParser, where: str = "") -> tuple[Size, ...]:
    """
    Parses what `text_of_sizes` returns. Raises ParseError, which tells `where`, and for a symbol
    with two ranges.
    """
    start = parser.pos
    found = parser.parse_comma_separated_list(parser.Delimiter.NONE, lambda: _sum(parser, where))
    ranges: dict[str, Size] = {}
    if parser.parse_optional_keyword("where"):
        entries = parser.parse_comma_separated_list(parser.Delimiter.NONE, lambda: _range(parser))
        ranges = dict(entries)
    try:
        sizes = sizes_at(found, ranges)
        symbols_in(sizes)
    except VerifyException as problem:
        # here the error can still name the place
        parser.raise_error(str(problem), start, parser.pos)
    return sizes


def _sum(parser: AttrParser, where: str) -> Size:
    found = _product(parser, where)
    while True:
        if parser.parse_optional_punctuation("+"):
            found = found + _product(parser, where)
        elif parser.parse_optional_punctuation("-"):
            found = found - _product(parser, where)
        else:
            return found


def _product(parser: AttrParser, where: str) -> Size:
    found = _factor(parser, where)
    while True:
        if parser.parse_optional_punctuation("*"):
            found = found * _factor(parser, where)
        elif parser.parse_optional_keyword("floordiv"):
            start = parser.pos
            divisor = parser.parse_integer(allow_boolean=False, allow_negative=False)
            if divisor == 0:
                parser.raise_error("expected a positive divisor, found 0", start, parser.pos)
            found = found // divisor
        else:
            return found


def _factor(parser: AttrParser, where: str) -> Size:
    if parser.parse_optional_punctuation("("):
        found = _sum(parser, where)
        parser.parse_punctuation(")")
        return found
    if parser.parse_optional_punctuation("-"):
        return -_factor(parser, where)
    name = parser.parse_optional_str_literal() or parser.parse_optional_identifier()
    if name is None:
        return parser.parse_integer(False, False, where)
    return symbol_size(name)


def _range(parser: AttrParser) -> tuple[str, Size]:
    """Parses `seq from 2 to 512`."""
    start, name = parser.pos, parser.parse_identifier_or_str_literal(" for a symbol")
    parser.parse_keyword("from")
    low, high = parser.parse_integer(), None
    if parser.parse_optional_keyword("to"):
        high = parser.parse_integer()
    try:
        return name, symbol_size(name, low, high)
    except VerifyException as problem:
        parser.raise_error(str(problem), start, parser.pos)


def is_symbolic(t: Attribute) -> bool:
    """Returns whether a type has sizes that depend on symbols."""
    return isinstance(t, TensorType) and isinstance(t.encoding, DimsAttr)


def symbolic_shape(t: TensorType) -> tuple[int, ...]:
    """
    Returns the shape of a tensor, in which extents take the place of `?`. They act as integers
    where the ranges of their symbols allow that. Raises VerifyException for types that have not one
    size for each `?`.
    """
    shape = t.get_shape()
    if not isinstance(t.encoding, DimsAttr):
        return shape
    if not _are_sizes(t.encoding):
        for size in t.encoding.data:
            _expect_not_negative(size)
    return _shape(shape, t.encoding)


@lru_cache(8192)
def _shape(shape: tuple[int, ...], dims: DimsAttr) -> tuple[int, ...]:
    wanted = shape.count(DYNAMIC_INDEX)
    if wanted != len(dims.data):
        text = "x".join("?" if d == DYNAMIC_INDEX else str(d) for d in shape)
        raise VerifyException(
            f"expected {counted(wanted, 'symbolic size')} for {text}, one for each ?, "
            f"found {len(dims.data)}: {', '.join(map(str, dims.data))}"
        )
    sizes = iter(dims.data)
    return tuple(next(sizes) if d == DYNAMIC_INDEX else d for d in shape)  # pyright: ignore


@lru_cache(8192)
def _are_sizes(dims: DimsAttr) -> bool:
    """Returns whether the ranges of symbols tell that no size is negative."""
    return all(bounds(size)[0] >= 0 for size in dims.data)


def _expect_not_negative(size: Size) -> None:
    low, _ = bounds(size)
    if low < 0:
        if isinstance(size, Extent) and decided(size, Question.IS_NEGATIVE) is False:
            return
        symbols = size.symbols if isinstance(size, Extent) else ()
        ranges = ", ".join(f"{s} is {s.range_text}" for s in sorted(symbols, key=str))
        least = "any number" if low == -inf else f"{low}"
        raise VerifyException(
            f"expected sizes from 0, found {size}, which may be {least}"
            f"{': ' if ranges else ''}{ranges}"
        )


def with_symbols(element: Attribute, shape: Sequence[Size]) -> TensorType:
    """Returns the type of a tensor some of whose sizes are extents."""
    extents = tuple(size for size in shape if isinstance(size, Extent))
    plain = [DYNAMIC_INDEX if isinstance(size, Extent) else size for size in shape]
    return TensorType(element, plain, DimsAttr(extents))
