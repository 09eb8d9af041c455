"""
The parser of MLIR text, which `glow.compile` and the tools share.

xDSL's parser does not record where operations come from. This one gives each operation its
position, and every error of it says `file:line:column: error:`, shows the line, and, for names,
what is close.
"""

from __future__ import annotations

import codecs
import struct
from bisect import bisect_right
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, ModuleOp, StringAttr, UnknownLoc
from xdsl.ir import Operation
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.utils.exceptions import ParseError, VerifyException
from xdsl.utils.lexer import Input, Span
from xdsl.utils.mlir_lexer import MLIRTokenKind

from .context import make_context
from .diagnostics import describe_failure, describe_parse_error
from .errors import TextError
from .wording import did_you_mean

_UNMADE = (
    *(ArithmeticError, AssertionError, LookupError, MemoryError, NotImplementedError, ValueError),
    *(VerifyException, struct.error),
)
"""The parser raises one of these if an attribute or a number cannot be made."""


class LocatedParseError(ParseError):
    """A parse error that prints as all errors do."""

    def __str__(self) -> str:
        return describe_parse_error(self)


class LocatingParser(Parser):
    """A parser that records in each operation where its text begins."""

    def __init__(self, ctx: Context, text: str, name: str, line_offset: int = 0):
        super().__init__(ctx, text, name)
        self._text = text
        self._is_empty = self._current_token.kind is MLIRTokenKind.EOF
        self._file = StringAttr(name)
        self._line_offset = line_offset
        self._line_starts = [0]
        self._forward_uses: dict[str, Span] = {}
        start = text.find("\n")
        while start >= 0:
            self._line_starts.append(start + 1)
            start = text.find("\n", start + 1)

    def parse_operation(self) -> Operation:
        start = self._current_token.span.start
        op = super().parse_operation()
        if isinstance(op.location, UnknownLoc):
            line = bisect_right(self._line_starts, start)
            column = start - self._line_starts[line - 1] + 1
            op.location = FileLineColLoc(
                self._file, IntAttr(line + self._line_offset), IntAttr(column)
            )
        return op

    def _get_op_by_name(self, name: str) -> type[Operation]:
        try:
            return super()._get_op_by_name(name)
        except ParseError:
            # the parser is already one token further
            start = self._text.rfind(name, 0, self.pos)
            if start < 0:
                raise
            span = Span(start, start + len(name), Input(self._text, self._file.data))
            raise ParseError(span, f"unknown operation {name}{self._near(name)}") from None

    def _near(self, name: str) -> str:
        dialect = self.ctx.get_optional_dialect(name.split(".")[0])
        if dialect is None:
            return "; there is no such dialect"
        return did_you_mean(name, [op.name for op in dialect.operations])

    def resolve_operand(self, operand: UnresolvedOperand, type):
        if operand.operand_name not in self.ssa_values:
            self._forward_uses.setdefault(operand.operand_name, operand.span)
        return super().resolve_operand(operand, type)

    def parse_module(self, allow_implicit_module: bool = True) -> ModuleOp:
        if allow_implicit_module and self._is_empty:
            return ModuleOp([])
        try:
            return super().parse_module(allow_implicit_module)
        except ParseError as e:
            missing = next(iter(self.forward_ssa_references), None)
            if missing is None or not e.msg.startswith("values used but not defined"):
                raise
            span = self._forward_uses.get(missing, e.span)
            raise ParseError(span, f"%{missing} is used but not defined") from None
        except _UNMADE as e:
            message = str(e) or f"the text cannot be read ({type(e).__name__})"
            message += " is not known" if isinstance(e, KeyError) else ""
            raise ParseError(self._current_token.span, message) from e
        except RecursionError:
            message = "the text is nested too deeply"
            raise ParseError(self._current_token.span, message) from None


def parse_text(
    context: Context,
    content: bytes,
    name: str,
    line_offset: int = 0,
    implicit_module: bool = True,
) -> ModuleOp:
    """
    Returns the module that `content`, text in UTF-8, describes. It is not verified. `name` is that
    of the file and `line_offset` the number of lines before `content`. Operations outside a module
    become part of an implicit one, unless `implicit_module` is false.

    Raises LocatedParseError.
    """
    try:
        text = _decode(content, name)
        parser = LocatingParser(context, text, name, line_offset)
        return parser.parse_module(implicit_module)
    except ParseError as e:
        raise LocatedParseError(e.span, e.msg) from e


def _decode(content: bytes, name: str) -> str:
    content = content.removeprefix(codecs.BOM_UTF8)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as e:
        start = len(content[: e.start].decode("utf-8"))
        where = Span(start, start + 1, Input(content.decode("utf-8", "replace"), name))
        found = f"found the byte 0x{content[e.start]:02x}"
        raise ParseError(where, f"expected text in UTF-8, {found}") from None


def read_module(path: Path) -> ModuleOp:
    """
    Returns the verified module of a file of MLIR text, in a context in which every stage parses.

    Raises TextError, whose message is the one that `glow-opt` prints.
    """
    # glow-opt starts with this module, and reads its input in another way
    from .checks import verify_all

    try:
        content = path.read_bytes()
    except (OSError, ValueError) as e:
        raise TextError(f"{path}: error: {getattr(e, 'strerror', None) or e}") from None
    try:
        module = parse_text(make_context(), content, str(path))
    except ParseError as e:
        raise TextError(str(e)) from None
    try:
        verify_all(module)
    except VerifyException as e:
        raise TextError(describe_failure(e, None, str(path), module)) from None
    return module
