"""
The text of accesses: `%x[16 * i + j + 3]`.

A place is a sum of loop variables times numbers, of entries of tables (`[0, 3, 7][i]`), of an
integer that memory holds (`8 * index(%rows[i], 100)`, clamped to indices of 100 elements), and of a
number. Outer loop variables are operands: `64 * %n`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from xdsl.ir import SSAValue
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from .affine import Access, Affine, Buffer, Dim, Indirect, Stride, add_strides
from .limits import limit_text, parse_limit

Operand: TypeAlias = Buffer | Dim


class Writer:
    """Prints loops and accesses. `operands` are the texts of buffers and outer loops."""

    def __init__(
        self,
        printer: Printer,
        operands: Mapping[Operand, SSAValue | str],
        loops: Sequence[Dim],
    ):
        self.printer = printer
        self._operands = operands
        self.loops = loops

    def put(self, text: str) -> None:
        self.printer.print_string(text)

    def operand(self, operand: Operand) -> None:
        value = self._operands[operand]
        if isinstance(value, str):
            self.put(value)
        else:
            self.printer.print_ssa_value(value)

    def loop(self, dim: Dim) -> None:
        if dim in self._operands:
            self.operand(dim)
        else:
            self.put(dim.name)

    def listed(self, items: Sequence[object], write: Callable[..., None]) -> None:
        for i, item in enumerate(items):
            if i:
                self.put(", ")
            write(item)

    def loop_sizes(self, dims: Sequence[Dim]) -> None:
        """Returns `(i: 16, j: 8)`."""
        self.put("(" + ", ".join(f"{d.name}: {d.size}{limit_text(d.limit)}" for d in dims) + ")")

    def access(self, access: Access) -> None:
        self.operand(access.buffer)
        self.put("[")
        self.place(access.place, access.indirect)
        self.put("]")
        if access.read_as is not None:
            self.put(" as ")
            self.printer.print_attribute(access.read_as)

    def place(self, place: Affine, indirect: Indirect | None = None) -> None:
        is_first = True
        for dim, stride in place.terms.items():
            if stride == 0:
                continue
            if isinstance(stride, tuple):
                self.put(("" if is_first else " + ") + f"[{', '.join(map(str, stride))}][")
                self.loop(dim)
                self.put("]")
            else:
                self._sign(stride, is_first)
                self.put("" if abs(stride) == 1 else f"{abs(stride)} * ")
                self.loop(dim)
            is_first = False
        if indirect is not None:
            self._sign(indirect.stride, is_first)
            self.put(f"{abs(indirect.stride)} * index(")
            self.access(indirect.access)
            self.put(f", {indirect.size}{', unsigned' if indirect.unsigned else ''})")
            is_first = False
        if place.constant or is_first:
            self._sign(place.constant, is_first)
            self.put(str(abs(place.constant)))

    def _sign(self, number: int, is_first: bool) -> None:
        if is_first:
            self.put("-" if number < 0 else "")
        else:
            self.put(" - " if number < 0 else " + ")


class Reader:
    """
    Parses loops and accesses. `operand` parses an operand, if there is one, to its buffer or loop.
    """

    def __init__(self, parser: AttrParser, operand: Callable[[], Operand | None]):
        self.parser = parser
        self._operand = operand
        self.loops: dict[str, Dim] = {}

    def loop_sizes(self) -> tuple[Dim, ...]:
        """Parses `(i: 16, j: 8)`: loops with new names."""
        parser = self.parser

        def one() -> Dim:
            position = parser.pos
            name = parser.parse_identifier()
            if name in self.loops:
                parser.raise_error(f"the loop {name} is there twice", position)
            parser.parse_punctuation(":")
            size = parser.parse_integer(allow_boolean=False, allow_negative=False)
            self.loops[name] = dim = Dim(name, size, parse_limit(parser))
            return dim

        return tuple(parser.parse_comma_separated_list(parser.Delimiter.PAREN, one))

    def loop(self) -> Dim:
        """Returns a loop that is known by now, or an outer loop variable."""
        position = self.parser.pos
        operand = self._operand()
        if isinstance(operand, Dim):
            return operand
        if operand is not None:
            self.parser.raise_error("expected a loop variable, found a buffer", position)
        name = self.parser.parse_identifier(" for a loop")
        if name not in self.loops:
            known = ", ".join(self.loops) or "none"
            self.parser.raise_error(
                f"expected a loop of this nest ({known}), found {name}", position
            )
        return self.loops[name]

    def accesses(self) -> tuple[Access, ...]:
        """Returns `(%x[i], %y[j])`"""
        parser = self.parser
        return tuple(parser.parse_comma_separated_list(parser.Delimiter.PAREN, self.access))

    def access(self) -> Access:
        position = self.parser.pos
        buffer = self._operand()
        if not isinstance(buffer, Buffer):
            self.parser.raise_error("expected a buffer", position)
        self.parser.parse_punctuation("[")
        place, indirect = self._sum()
        self.parser.parse_punctuation("]")
        read_as = self.parser.parse_type() if self.parser.parse_optional_keyword("as") else None
        return Access(buffer, place, indirect, read_as)

    def place(self) -> Affine:
        """Returns a place without an index from memory."""
        position = self.parser.pos
        place, indirect = self._sum()
        if indirect is not None:
            self.parser.raise_error("expected a place without an index from memory", position)
        return place

    def _sum(self) -> tuple[Affine, Indirect | None]:
        terms: dict[Dim, Stride] = {}
        constant, found = 0, None
        sign = -1 if self.parser.parse_optional_punctuation("-") else 1
        while True:
            constant, indirect = self._term(sign, terms, constant)
            if indirect is not None and found is not None:
                self.parser.raise_error("expected one index from memory, found two")
            found = found or indirect
            if self.parser.parse_optional_punctuation("+"):
                sign = 1
            elif self.parser.parse_optional_punctuation("-"):
                sign = -1
            else:
                return Affine(terms, constant), found

    def _term(
        self, sign: int, terms: dict[Dim, Stride], constant: int
    ) -> tuple[int, Indirect | None]:
        parser = self.parser
        if parser.parse_optional_punctuation("["):
            self._table(sign, terms)
            return constant, None
        factor = parser.parse_optional_integer(allow_boolean=False, allow_negative=False)
        if factor is not None and not parser.parse_optional_punctuation("*"):
            return constant + sign * factor, None
        factor = sign * (1 if factor is None else factor)
        if parser.parse_optional_keyword("index"):
            parser.parse_punctuation("(")
            access = self.access()
            parser.parse_punctuation(",")
            size = parser.parse_integer(allow_boolean=False, allow_negative=False)
            unsigned = parser.parse_optional_punctuation(",") is not None
            if unsigned:
                parser.parse_keyword("unsigned")
            parser.parse_punctuation(")")
            return constant, Indirect(access, size, factor, unsigned)
        self._add(terms, self.loop(), factor)
        return constant, None

    def _table(self, sign: int, terms: dict[Dim, Stride]) -> None:
        parser = self.parser
        position = parser.pos
        table = [sign * parser.parse_integer(allow_boolean=False)]
        while parser.parse_optional_punctuation(","):
            table.append(sign * parser.parse_integer(allow_boolean=False))
        parser.parse_punctuation("]")
        parser.parse_punctuation("[")
        dim = self.loop()
        parser.parse_punctuation("]")
        if len(table) != dim.size:
            parser.raise_error(
                f"expected a table of {dim.size} places, one for each value of {dim.name}, "
                f"found {len(table)}",
                position,
            )
        self._add(terms, dim, tuple(table))

    @staticmethod
    def _add(terms: dict[Dim, Stride], dim: Dim, stride: Stride) -> None:
        terms[dim] = add_strides(terms[dim], stride) if dim in terms else stride
