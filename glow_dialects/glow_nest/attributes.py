"""Attributes of this dialect: what operations say, how nests are computed and divided."""

from __future__ import annotations

from xdsl.ir import Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from .affine import Dim
from .content import Content
from .schedule import Schedule, Split
from .schedule_text import loops_of, read_schedule, write_schedule
from .text import Reader, Writer


class UnknownLoops(Reader):
    """Loops are known by their names alone."""

    def loop(self) -> Dim:
        name = self.parser.parse_identifier(" for a loop")
        return self.loops.setdefault(name, Dim(name, 0))


@irdl_attr_definition
class ScheduleAttr(Data[Schedule]):
    """
    How a nest is computed. Its loops are named; those of an attribute that was parsed by itself
    have no size until they are looked up in a nest (`NestOp.bound_schedule`).
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
    """Which loops of a schedule's order threads divide: `<0 to 1, together, drawn>`."""

    name = "glow_nest.split"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Split:
        with parser.in_angle_brackets():
            first = parser.parse_integer(allow_boolean=False, allow_negative=False)
            parser.parse_keyword("to")
            last = parser.parse_integer(allow_boolean=False, allow_negative=False)
            words = {"together": False, "drawn": False}
            while parser.parse_optional_punctuation(","):
                words[parser.parse_keyword_in(list(words))] = True
            return Split(first, last, words["together"], words["drawn"])

    def print_parameter(self, printer: Printer) -> None:
        split = self.data
        words = [w for w in ("together", "drawn") if getattr(split, w)]
        with printer.in_angle_brackets():
            printer.print_string(", ".join([f"{split.first} to {split.last}", *words]))


@irdl_attr_definition
class ContentAttr(Data[Content]):
    """What an operation says of its operands, of which `@0` is the first."""

    name = "glow_nest.content"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Content:
        raise NotImplementedError("")

    def print_parameter(self, printer: Printer) -> None:
        raise NotImplementedError("")
