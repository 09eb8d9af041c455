"""Attributes of this dialect: contents of operations, schedules of nests, and their division."""

from __future__ import annotations

from functools import partial

from xdsl.ir import Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from .affine import Buffer, Dim
from .body_text import read_body, write_body
from .content import Content, Leaf, own_loops
from .nest import Listing, Nest, RepeatListed
from .nest_text import (
    read_listing,
    read_nest,
    read_repeat_listed,
    write_listing,
    write_nest,
    write_repeat_listed,
)
from .schedule import Schedule, Split
from .schedule_text import loops_of, read_schedule, write_schedule
from .text import Operand, Reader, Writer


class UnknownLoops(Reader):
    """Loops are known by their names alone."""

    def loop(self) -> Dim:
        name = self.parser.parse_identifier(" for a loop")
        return self.loops.setdefault(name, Dim(name, 0))


@irdl_attr_definition
class ScheduleAttr(Data[Schedule]):
    """
    The schedule of a nest. Its loops are named. The loops of an attribute that was parsed by itself
    have no sizes until they are looked up in a nest (`NestOp.bound_schedule`).
    """

    name = "glow_nest.schedule"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Schedule:
        return read_schedule(UnknownLoops(parser, lambda: None))

    def print_parameter(self, printer: Printer) -> None:
        write_schedule(
            Writer(printer, {}, sorted(loops_of(self.data), key=lambda d: d.name)), self.data
        )


@irdl_attr_definition
class SplitAttr(Data[Split]):
    """
    The division of a nest between threads: the loops of a schedule's order that are divided,
    `<0 to 1, drawn>`.
    """

    name = "glow_nest.split"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Split:
        with parser.in_angle_brackets():
            first = parser.parse_integer(allow_boolean=False, allow_negative=False)
            parser.parse_keyword("to")
            last = parser.parse_integer(allow_boolean=False, allow_negative=False)
            drawn = parser.parse_optional_punctuation(",") is not None
            if drawn:
                parser.parse_keyword("drawn")
            return Split(first, last, drawn)

    def print_parameter(self, printer: Printer) -> None:
        split = self.data
        with printer.in_angle_brackets():
            printer.print_string(f"{split.first} to {split.last}{', drawn' if split.drawn else ''}")


@irdl_attr_definition
class ContentAttr(Data[Content]):
    """
    The content of an operation in its generic form. Buffers, with their elements, and outer loop
    variables take the place of operands: `<nest, [@b0: f32 0 to 8], [@n0: 4], parallel(i: 2) ...>`.
    """

    name = "glow_nest.content"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Content:
        operands: dict[str, Operand] = {}

        def operand() -> Operand | None:
            name = parser.parse_optional_symbol_name()
            return None if name is None else operands[name.data]

        with parser.in_angle_brackets():
            kind = parser.parse_keyword_in(["nest", "list_nonzeros", "repeat_listed"])
            parser.parse_punctuation(",")
            square = parser.Delimiter.SQUARE
            parser.parse_comma_separated_list(square, lambda: _read_buffer(parser, operands))
            parser.parse_punctuation(",")
            parser.parse_comma_separated_list(square, lambda: _read_outer(parser, operands))
            parser.parse_punctuation(",")
            step = _read_step(kind, Reader(parser, operand))
        buffers = [o for o in operands.values() if isinstance(o, Buffer)]
        outer = [o for o in operands.values() if isinstance(o, Dim)]
        return Content(step, tuple(buffers), tuple(outer))

    def print_parameter(self, printer: Printer) -> None:
        content = self.data
        names: dict[Operand, str] = {b: f"@b{i}" for i, b in enumerate(content.buffers)}
        names |= {d: f"@n{i}" for i, d in enumerate(content.outer)}
        writer = Writer(printer, names, own_loops(content.step))
        with printer.in_angle_brackets():
            writer.put(f"{_KINDS[type(content.step)]}, [")
            writer.listed(content.buffers, lambda b: _write_buffer(writer, names[b], b))
            outer = ", ".join(f"{names[d]}: {d.name} {d.size}" for d in content.outer)
            writer.put(f"], [{outer}],")
            _write_step(writer, content.step)


_KINDS = {Nest: "nest", Listing: "list_nonzeros", RepeatListed: "repeat_listed"}


def _write_buffer(writer: Writer, name: str, buffer: Buffer) -> None:
    writer.put(f"{name}: ")
    writer.printer.print_attribute(buffer.element)
    writer.put(f" {buffer.low} to {buffer.high}")
    if buffer.parameter is not None:
        writer.put(f" of {buffer.parameter}")


def _read_buffer(parser: AttrParser, operands: dict[str, Operand]) -> None:
    name = parser.parse_symbol_name().data
    parser.parse_punctuation(":")
    element = parser.parse_type()
    low = parser.parse_integer()
    parser.parse_keyword("to")
    high = parser.parse_integer()
    parameter = parser.parse_integer() if parser.parse_optional_keyword("of") else None
    operands[name] = Buffer(element, low, high, parameter)


def _read_outer(parser: AttrParser, operands: dict[str, Operand]) -> None:
    name = parser.parse_symbol_name().data
    parser.parse_punctuation(":")
    operands[name] = Dim(parser.parse_identifier(), parser.parse_integer())


def _write_step(writer: Writer, step: Leaf) -> None:
    match step:
        case Nest():
            write_nest(writer, step, partial(write_body, writer.printer))
        case Listing():
            write_listing(writer, step)
        case RepeatListed():
            writer.put(" " + ", ".join(d.name for d in step.dims))
            write_repeat_listed(writer, step)


def _read_step(kind: str, reader: Reader) -> Leaf:
    parser = reader.parser
    match kind:
        case "nest":
            return read_nest(reader, partial(read_body, parser))
        case "list_nonzeros":
            return read_listing(reader)
        case _:
            names = [parser.parse_identifier()]
            while parser.parse_optional_punctuation(","):
                names.append(parser.parse_identifier())
            return read_repeat_listed(reader, names)
