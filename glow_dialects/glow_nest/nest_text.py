"""The text of nests, lists and loops over lists, apart from their bodies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from xdsl.ir import Attribute

from ..scalar import arguments
from .affine import Access, Dim
from .body import Body
from .nest import Combine, Listing, Nest, NumberList, Range, Reduction, RepeatListed
from .text import Reader, Writer

PutBody = Callable[[Body, Sequence[Attribute]], None]
"""Prints a body whose arguments have these types."""
ReadBody = Callable[[Sequence[Attribute], Sequence[Attribute]], Body]
"""Parses a body from arguments of some types to results of others."""


def is_passing(body: Body, nest: Nest) -> bool:
    """Returns whether a nest writes the arguments of its body, in order."""
    numbers = [r.index for r in body.results]
    return numbers == list(range(len(nest.given))) == list(range(len(nest.writes)))


def write_nest(writer: Writer, nest: Nest, put_body: PutBody) -> None:
    """Prints ` parallel(i: 8) reduce(k: 32) add f32 (%x[..]) reads(..) writes(..)`."""
    writer.put(" parallel")
    writer.loop_sizes(nest.parallel)
    reduction = nest.reduction
    if reduction is not None:
        writer.put(" reduce")
        writer.loop_sizes(nest.reduced)
        if nest.range is not None:
            _write_range(writer, nest.range)
        writer.put(f" {reduction.combine.name.lower()} ")
        writer.printer.print_attribute(reduction.element)
        _write_accesses(writer, " of", reduction.reads)
        if reduction.terms > 1:
            writer.put(f" terms {reduction.terms}")
        if reduction.fields:
            writer.put(f" at [{', '.join(map(str, reduction.fields))}]")
        _write_words(writer, reduction, _OF_REDUCTIONS)
        if reduction.map is not None:
            if reduction.values > 1:
                writer.put(f" values {reduction.values}")
            writer.put(" map ")
            put_body(reduction.map, [a.element for a in reduction.reads])
    _write_accesses(writer, " reads", nest.operands)
    _write_accesses(writer, " writes", nest.writes)
    _write_words(writer, nest, _OF_NESTS)
    if not is_passing(nest.body, nest):
        writer.put(" body ")
        put_body(nest.body, nest.given)


def _write_range(writer: Writer, bounds: Range) -> None:
    writer.put(f" range {bounds.dim.name} from ")
    writer.access(bounds.first)
    writer.put(" to ")
    writer.access(bounds.end)


_OF_REDUCTIONS = ("adds_operand",)
_OF_NESTS = ("in_place", "raw")


def _write_accesses(writer: Writer, word: str, accesses: Sequence[Access]) -> None:
    if accesses:
        writer.put(f"{word}(")
        writer.listed(accesses, writer.access)
        writer.put(")")


def _write_words(writer: Writer, value: object, words: Sequence[str]) -> None:
    for word in words:
        if getattr(value, word):
            writer.put(f" {word}")


def read_nest(reader: Reader, body: ReadBody) -> Nest:
    parser = reader.parser
    parser.parse_keyword("parallel")
    parallel = reader.loop_sizes()
    reduction, reduced, bounds = None, (), None
    if parser.parse_optional_keyword("reduce"):
        reduced = reader.loop_sizes()
        bounds = _read_range(reader)
        reduction = _read_reduction(reader, body)
    operands = _read_accesses(reader, "reads")
    position = parser.pos
    writes = _read_accesses(reader, "writes")
    if not writes:
        parser.raise_error("expected what the nest writes: writes(...)", position)
    words = _read_words(reader, _OF_NESTS)
    elements = tuple(w.element for w in writes)
    nest = Nest(
        *(parallel, writes, Body(arguments(len(writes)), elements), operands, reduction, reduced),
        range=bounds,
        **words,
    )
    if parser.parse_optional_keyword("body"):
        return replace(nest, body=body(nest.given, elements))
    return nest


def _read_range(reader: Reader) -> Range | None:
    parser = reader.parser
    if not parser.parse_optional_keyword("range"):
        return None
    dim = reader.loop()
    parser.parse_keyword("from")
    first = reader.access()
    parser.parse_keyword("to")
    return Range(dim, first, reader.access())


def _read_reduction(reader: Reader, body: ReadBody) -> Reduction:
    parser = reader.parser
    position = parser.pos
    name, names = parser.parse_identifier(), [c.name.lower() for c in Combine]
    if name not in names:
        parser.raise_error(
            f"expected a combination that has an identity ({', '.join(names)}), found {name}",
            position,
        )
    element = parser.parse_type()
    parser.parse_keyword("of")
    reads = reader.accesses()
    terms = parser.parse_integer() if parser.parse_optional_keyword("terms") else 1
    fields: Sequence[int] = ()
    if parser.parse_optional_keyword("at"):
        square = parser.Delimiter.SQUARE
        fields = parser.parse_comma_separated_list(square, parser.parse_integer)
    words = _read_words(reader, _OF_REDUCTIONS)
    mapped, values = None, _read_values(reader)
    if values > 1:
        parser.parse_keyword("map")
        mapped = body([a.element for a in reads], [element] * values)
    elif parser.parse_optional_keyword("map"):
        mapped = body([a.element for a in reads], [element])
    return Reduction(
        *(Combine[name.upper()], element, reads, mapped, terms, tuple(fields)), **words
    )


def _read_values(reader: Reader) -> int:
    """Returns how many values a map computes."""
    parser = reader.parser
    if not parser.parse_optional_keyword("values"):
        return 1
    position = parser.pos
    values = parser.parse_integer(allow_boolean=False, allow_negative=False)
    if values < 2:
        parser.raise_error(
            f"expected several values, found {values}: one needs no number", position
        )
    return values


def _read_accesses(reader: Reader, word: str) -> tuple[Access, ...]:
    return reader.accesses() if reader.parser.parse_optional_keyword(word) else ()


def _read_words(reader: Reader, words: Sequence[str]) -> dict[str, bool]:
    return {w: bool(reader.parser.parse_optional_keyword(w)) for w in words}


# lists


def write_listing(writer: Writer, step: Listing) -> None:
    """Prints ` i: 100 of %x[i] to %numbers[i] count %count[0]`."""
    _write_list(writer, step.numbers)
    writer.put(" of ")
    writer.access(step.source)


def read_listing(reader: Reader) -> Listing:
    to = _read_list(reader)
    reader.parser.parse_keyword("of")
    return Listing(to, reader.access())


def write_repeat_listed(writer: Writer, step: RepeatListed) -> None:
    _write_list(writer, step.numbers)
    if step.after:
        writer.put(f" after {step.after}")
    if step.part is not None:
        writer.put(" part ")
        writer.loop(step.part)


def read_repeat_listed(reader: Reader, dims: Sequence[str]) -> RepeatListed:
    parser = reader.parser
    numbers = _read_list(reader)
    after = parser.parse_integer() if parser.parse_optional_keyword("after") else 0
    part = None
    if parser.parse_optional_keyword("part"):
        part = reader.loop()
    size = numbers.dim.size
    return RepeatListed(tuple(Dim(name, size) for name in dims), numbers, after, part)


def _write_list(writer: Writer, numbers: NumberList) -> None:
    writer.put(f" {numbers.dim.name}: {numbers.dim.size} in ")
    writer.access(numbers.place)
    writer.put(" count ")
    writer.access(numbers.count)


def _read_list(reader: Reader) -> NumberList:
    parser = reader.parser
    name = parser.parse_identifier(" for a loop")
    parser.parse_punctuation(":")
    dim = Dim(name, parser.parse_integer(allow_boolean=False, allow_negative=False))
    reader.loops[name] = dim
    parser.parse_keyword("in")
    numbers = reader.access()
    parser.parse_keyword("count")
    return NumberList(dim, numbers, reader.access())
