"""Strings in text: what is not closed is one error at once, and all others mean what they did."""

from __future__ import annotations

import pytest
from glow.context import make_context
from glow.parsing import parse_text
from hypothesis import given, settings
from hypothesis import strategies as st
from xdsl.dialects.builtin import BytesAttr, StringAttr
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError

CONTEXT = make_context()
NOT_CLOSED = {
    "up to the end of the file": ('"test.op"() {a = "' + "b" * 24, "1:18"),
    "up to the end of a line": ('// "\n"test.op"() {a = "' + "b" * 24 + '\n} : () -> "', "2:18"),
    "with Windows line ends": ('\r\n"test.op"() {a = "b\r\n} : () -> ()', "2:18"),
    "after others": ('"test.op"() {a = "b", c = "d} : () -> ()', "1:27"),
    "a symbol": ('func.func @"f() {\n}', "1:12"),
    "the last character": ('"test.op"() {a = "', "1:18"),
    "escaped quotes": (r'"test.op"() {a = "b\"c\22 \\\"} : () -> ()', "1:18"),
    "a backslash at the end": ('"test.op"() {a = "b\\', "1:18"),
    "a backslash at the end of a line": ('"test.op"() {a = "b\\\n"} : () -> ()', "1:18"),
    "bytes": (r'"test.op"() {a = "\FF\00' + "b" * 24, "1:18"),
    "an operation": ('"test.op() : () -> ()\n"test.op"() : () -> ()', "1:1"),
    "long": ('"test.op"() {a = "' + "b" * 1_000_000, "1:18"),
    "far down": ("// a line\n" * 100_000 + '"test.op"() {a = "b', "100001:18"),
}


@pytest.mark.parametrize("what", NOT_CLOSED)
def test_not_closed(what: str) -> None:
    text, where = NOT_CLOSED[what]
    with pytest.raises(ParseError) as error:
        parse_text(CONTEXT, text.encode(), "in.mlir")
    assert str(error.value).startswith(f"in.mlir:{where}: error: string is not closed\n")


@pytest.mark.parametrize("escape", [r"\q", r"\x41", r"\1", r"\'"])
def test_unknown_escape(escape: str) -> None:
    with pytest.raises(ParseError) as error:
        parse_text(CONTEXT, f'"test.op"() {{a = "bc{escape}"}} : () -> ()'.encode(), "in.mlir")
    assert str(error.value).startswith("in.mlir:1:21: error: unknown escape in a string: expected")


@pytest.mark.parametrize("text", ['"a" // "', '// "not closed\n"a"', '"a"', '"a"\n', '"//a"//"'])
def test_closed(text: str) -> None:
    attribute = Parser(CONTEXT, text).parse_attribute()
    assert isinstance(attribute, StringAttr)
    assert attribute.data in ("a", "//a")


@settings(max_examples=30)
@given(st.text(st.characters(max_codepoint=127), max_size=20))
def test_any_ascii_string_comes_back(text: str) -> None:
    assert Parser(CONTEXT, str(StringAttr(text))).parse_attribute() == StringAttr(text)


@settings(max_examples=30)
@given(st.binary(min_size=1, max_size=20).filter(lambda data: not data.isascii()))
def test_any_bytes_come_back(data: bytes) -> None:
    assert Parser(CONTEXT, str(BytesAttr(data))).parse_attribute() == BytesAttr(data)
