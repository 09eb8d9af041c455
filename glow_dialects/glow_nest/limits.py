"""
The text of limits of loops: `of 8 * rows from 64 by 16 opens`.

`rows` is the number that the last argument of the kernel holds, and `rest` what is left of it in
the block of rows around the loop.
"""

from __future__ import annotations

from xdsl.ir import Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from .affine import Limit


def limit_text(limit: Limit | None) -> str:
    """Returns the text of a limit: ` of 8 * rows from 64 by 16 opens`, or the empty text."""
    if limit is None:
        return ""
    factor = "" if limit.factor == 1 else f"{limit.factor} * "
    start = f" from {limit.start}" if limit.start else ""
    granule = "" if limit.granule == 1 else f" by {limit.granule}"
    opens = " opens" if limit.opens else ""
    return f" of {factor}{'rest' if limit.of_rest else 'rows'}{start}{granule}{opens}"


def parse_limit(parser: AttrParser) -> Limit | None:
    """Parses the limit of a loop, if there is one."""
    if not parser.parse_optional_keyword("of"):
        return None
    position = parser.pos
    factor = parser.parse_optional_integer(allow_boolean=False)
    if factor is not None:
        parser.parse_punctuation("*")
    numbers = [1 if factor is None else factor]
    of_rest = parser.parse_keyword_in(["rows", "rest"]) == "rest"
    for word, default in (("from", 0), ("by", 1)):
        given = parser.parse_optional_keyword(word) is not None
        numbers.append(parser.parse_integer(allow_boolean=False) if given else default)
    factor, start, granule = numbers
    if factor == 0 or granule < 1:
        parser.raise_error("expected a factor other than 0 and at least 1 row", position)
    opens = parser.parse_optional_keyword("opens") is not None
    return Limit(factor, granule, start, of_rest, opens)


@irdl_attr_definition
class LimitAttr(Data[Limit]):
    """The limit of a loop around steps of a kernel."""

    name = "glow_nest.limit"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Limit:
        with parser.in_angle_brackets():
            limit = parse_limit(parser)
            if limit is None:
                parser.raise_error("expected a limit, such as `of rows`")
            return limit

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(limit_text(self.data).lstrip())
