"""
The text of schedules: `<register_tile, order = [o, t, k], vector = k, lanes = 16, ...>`.

A schedule is its kind and its fields, those left out that have their defaults. So a new kind, or a
new field, has a text at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from typing import Any

from .affine import Affine, Dim
from .schedule import KINDS, Chunks, Finish, Lines, LoopPart, Schedule, TileGroup, VectorSchedule
from .text import Reader, Writer

Write = Callable[[Writer, Any], None]
Read = Callable[[Reader], Any]


def write_schedule(writer: Writer, schedule: Schedule) -> None:
    writer.put(f"<{schedule.kind}")
    _write_fields(writer, schedule, ", ")
    writer.put(">")


def read_schedule(reader: Reader) -> Schedule:
    parser = reader.parser
    parser.parse_punctuation("<")
    position = parser.pos
    kind = parser.parse_identifier(" for a kind of schedule")
    if kind not in KINDS:
        parser.raise_error(f"expected a schedule of {', '.join(KINDS)}, found {kind}", position)
    values = _read_fields(reader, KINDS[kind], bool(parser.parse_optional_punctuation(",")))
    parser.parse_punctuation(">")
    return values


def _write_fields(writer: Writer, value: object, before: str) -> None:
    for field in _fields(type(value)):
        content = getattr(value, field.name)
        if content == _default(field):
            continue
        writer.put(f"{before}{field.name} = ")
        _TYPES[str(field.type)][0](writer, content)
        before = ", "


def _read_fields(reader: Reader, kind: type[Any], more: bool) -> Any:
    parser = reader.parser
    known = {f.name: f for f in _fields(kind)}
    start, values = parser.pos, {}
    while more:
        position = parser.pos
        name = parser.parse_identifier(" for a field")
        if name not in known or name in values:
            parser.raise_error(
                f"expected one of {', '.join(n for n in known if n not in values)}, found {name}",
                position,
            )
        parser.parse_punctuation("=")
        values[name] = _TYPES[str(known[name].type)][1](reader)
        more = bool(parser.parse_optional_punctuation(","))
    missing = [n for n, f in known.items() if n not in values and _default(f) is MISSING]
    if missing:
        parser.raise_error(f"expected {', '.join(missing)}", start, parser.pos)
    return kind(**values)


@cache
def _fields(kind: type[Any]) -> Sequence[Field[Any]]:
    return fields(kind)


def _default(field: Field[Any]) -> object:
    if field.default_factory is not MISSING:
        return field.default_factory()
    return field.default


# values, by the type that a field declares


def _integer(reader: Reader) -> int:
    return reader.parser.parse_integer(allow_boolean=False)


def _list(write: Write, read: Read) -> tuple[Write, Read]:
    """Returns `[a, b]`"""

    def put(writer: Writer, items: Sequence[object]) -> None:
        writer.put("[")
        writer.listed(list(items), lambda item: write(writer, item))
        writer.put("]")

    def take(reader: Reader) -> tuple[Any, ...]:
        parser = reader.parser
        square = parser.Delimiter.SQUARE
        return tuple(parser.parse_comma_separated_list(square, lambda: read(reader)))

    return put, take


def _loops_as_set(reader: Reader) -> frozenset[Dim]:
    return frozenset(_LOOPS[1](reader))


def _set(writer: Writer, dims: frozenset[Dim]) -> None:
    _LOOPS[0](writer, [d for d in writer.loops if d in dims])


def _mapping(key: tuple[Write, Read], value: tuple[Write, Read]) -> tuple[Write, Read]:
    """Returns `{a: b, c: d}`"""

    def put(writer: Writer, mapping: Mapping[Any, Any]) -> None:
        def one(item: tuple[object, object]) -> None:
            key[0](writer, item[0])
            writer.put(": ")
            value[0](writer, item[1])

        writer.put("{")
        writer.listed(list(mapping.items()), one)
        writer.put("}")

    def take(reader: Reader) -> dict[Any, Any]:
        parser = reader.parser

        def one() -> tuple[Any, Any]:
            k = key[1](reader)
            parser.parse_punctuation(":")
            return k, value[1](reader)

        return dict(parser.parse_comma_separated_list(parser.Delimiter.BRACES, one))

    return put, take


def _record(kind: type[Any]) -> tuple[Write, Read]:
    """Returns `<field = value, ...>`"""

    def put(writer: Writer, value: object) -> None:
        writer.put("<")
        _write_fields(writer, value, "")
        writer.put(">")

    def take(reader: Reader) -> Any:
        reader.parser.parse_punctuation("<")
        value = _read_fields(reader, kind, True)
        reader.parser.parse_punctuation(">")
        return value

    return put, take


def _write_part(writer: Writer, part: LoopPart) -> None:
    writer.put(f"{part.start} to {part.stop} by {part.tile}")


def _read_part(reader: Reader) -> LoopPart:
    parser = reader.parser
    position = parser.pos
    start = _integer(reader)
    parser.parse_keyword("to")
    stop = _integer(reader)
    parser.parse_keyword("by")
    tile = _integer(reader)
    if tile < 1 or stop <= start or (stop - start) % tile:
        parser.raise_error(
            f"expected a part whose size is a multiple of its tile, found {start} to {stop} by "
            f"{tile}",
            position,
        )
    return LoopPart(start, stop, tile)


def _write_finish(writer: Writer, finish: Finish) -> None:
    inner = Writer(writer.printer, {}, finish.loops)
    inner.loop_sizes(finish.loops)
    write_schedule(inner, finish.schedule)


def _read_finish(reader: Reader) -> Finish:
    inner, position = Reader(reader.parser, lambda: None), reader.parser.pos
    loops, schedule = inner.loop_sizes(), read_schedule(inner)
    if not isinstance(schedule, VectorSchedule):
        reader.parser.raise_error("expected a schedule for vectors", position, reader.parser.pos)
    return Finish(loops, schedule)


_NUMBER: tuple[Write, Read] = (lambda w, n: w.put(str(n)), _integer)
_LOOP: tuple[Write, Read] = (lambda w, dim: w.loop(dim), lambda r: r.loop())
_PLACE: tuple[Write, Read] = (lambda w, place: w.place(place), lambda r: r.place())
_LOOPS = _list(*_LOOP)
_NUMBERS = _list(*_NUMBER)
_PARTS = _mapping(_LOOP, _list(_write_part, _read_part))
_TYPES: Mapping[str, tuple[Write, Read]] = {
    "int": _NUMBER,
    "bool": (lambda w, b: w.put(str(b).lower()), lambda r: r.parser.parse_boolean()),
    "Dim": _LOOP,
    "Dim | None": _LOOP,
    "Affine": _PLACE,
    "Affine | None": _PLACE,
    "tuple[Dim, ...]": _LOOPS,
    "frozenset[Dim]": (_set, _loops_as_set),
    "tuple[int, int]": _NUMBERS,
    "tuple[tuple[int, int, int], ...]": _list(*_NUMBERS),
    "Mapping[Dim, int]": _mapping(_LOOP, _NUMBER),
    "Mapping[int, int]": _mapping(_NUMBER, _NUMBER),
    "Mapping[int, Dim]": _mapping(_NUMBER, _LOOP),
    "LoopParts": _PARTS,
    "Chunks | None": _record(Chunks),
    "Lines | None": _record(Lines),
    "tuple[TileGroup, ...]": _list(*_record(TileGroup)),
    "tuple[Finish, ...]": _list(_write_finish, _read_finish),
}


# loops of a schedule


def with_loops(value: Any, change: Mapping[Dim, Dim]) -> Any:
    """Returns a schedule, a value of a field of one, or facts about a nest with other loops."""
    match value:
        case Dim():
            return change.get(value, value)
        case tuple() | list():
            return tuple(with_loops(v, change) for v in value)
        case frozenset():
            return frozenset(with_loops(v, change) for v in value)
        case Mapping():
            return {with_loops(k, change): with_loops(v, change) for k, v in value.items()}
        case _ if is_dataclass(value) and not isinstance(value, type):
            parts = {
                f.name: with_loops(getattr(value, f.name), change) for f in _fields(type(value))
            }
            return type(value)(**parts)
        case _:
            return value


def loops_of(value: Any) -> set[Dim]:
    """Returns the loops that a schedule, or a value of a field of one, names."""
    match value:
        case Dim():
            return {value}
        case tuple() | list() | frozenset():
            return {d for v in value for d in loops_of(v)}
        case Mapping():
            return {d for k, v in value.items() for d in (*loops_of(k), *loops_of(v))}
        case Affine() | Schedule() | Chunks() | Lines():
            return {d for f in _fields(type(value)) for d in loops_of(getattr(value, f.name))}
        case _:
            return set()
