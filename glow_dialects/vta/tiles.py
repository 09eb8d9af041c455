"""The tiles of a layer."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from xdsl.ir import Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer


@dataclass(frozen=True)
class Tiles:
    """
    The output of a layer is computed in parts of `blocks` blocks of channels by `rows` x `columns`
    pixels. The sums of its largest product are accumulated `inputs` blocks of input channels at a
    time. With `weights_first`, all parts of the image are computed before the next channels, so
    that weights stay in their buffer; otherwise the inputs stay. `idle` accumulators are not used.

    Raises ValueError for numbers that no tiles can have.
    """

    blocks: int
    rows: int
    columns: int
    inputs: int = 1
    weights_first: bool = False
    idle: int = 0

    def __post_init__(self) -> None:
        if min(self.blocks, self.rows, self.columns, self.inputs) < 1 or self.idle < 0:
            raise ValueError(f"expected tiles of at least one element, found {self}")

    def __str__(self) -> str:
        shown = [f.name for f in fields(self) if getattr(self, f.name) != f.default]
        return ", ".join(f"{name} = {str(getattr(self, name)).lower()}" for name in shown)


_NAMES = tuple(f.name for f in fields(Tiles))


@irdl_attr_definition
class TilesAttr(Data[Tiles]):
    """
    The tile sizes that differ from the default:
    `#vta.tiles<blocks = 4, rows = 7, columns = 14, inputs = 2>`.
    """

    name = "vta.tiles"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Tiles:
        def parse_field() -> tuple[str, Any]:
            name = parser.parse_identifier()
            if name not in _NAMES:
                parser.raise_error(f"expected one of {', '.join(_NAMES)}, found {name}")
            parser.parse_punctuation("=")
            if name == "weights_first":
                return name, parser.parse_boolean()
            return name, parser.parse_integer(allow_boolean=False, allow_negative=False)

        found = dict(parser.parse_comma_separated_list(parser.Delimiter.ANGLE, parse_field))
        if missing := [n for n in ("blocks", "rows", "columns") if n not in found]:
            parser.raise_error(f"expected {missing[0]} of the tiles")
        try:
            return Tiles(**found)
        except ValueError as e:
            parser.raise_error(str(e))

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data}>")
