"""
Errors as `file:line:col: error: message`.

xDSL prints the whole module into the exception when an operation does not verify. Here, errors stay
short: a failed check keeps the operation instead of a dump of everything around it.
"""

from __future__ import annotations

from typing import NoReturn

from xdsl.dialects.builtin import FileLineColLoc
from xdsl.ir import IRNode, Operation, SSAValue
from xdsl.utils.diagnostic import Diagnostic
from xdsl.utils.exceptions import DiagnosticException, ParseError

LONGEST_LINE = 160
REPLACEMENT = "\ufffd"
"""Stands for a character that a screen does not show."""
LONGEST_MESSAGE = 2000
"""Characters of one line of a message; names and types of the input may be of any length."""


class ToolError(DiagnosticException):
    """An error whose text is complete: its position, its cause, and the remedy."""


def keep_operation(self: Diagnostic, ir: IRNode, underlying_error: Exception) -> NoReturn:
    """Replaces `Diagnostic.raise_exception`: remember the operation, do not print the module."""
    if not hasattr(underlying_error, "operation"):
        underlying_error.operation = next(iter(self.op_messages), None)  # type: ignore
    raise underlying_error


def shorten(message: str) -> str:
    """Returns the message, with the middle left out of lines that no screen can hold."""
    half = LONGEST_MESSAGE // 2
    return "\n".join(
        line
        if len(line) <= LONGEST_MESSAGE
        else f"{line[:half]} ... ({len(line) - 2 * half} characters) ... {line[-half:]}"
        for line in message.split("\n")
    )


def describe_parse_error(error: ParseError) -> str:
    """Returns the message, with the source line and a caret."""
    position = error.span.get_location()
    message = shorten(_visible(" ".join(error.msg.split())))
    if message.startswith("in "):
        # xDSL's wording for an unexpected token
        message = f"unexpected token {message}"
    head = f"{position.file}:{position.line}:{position.col}: error: {message}"
    content = error.span.input.content
    if isinstance(content, bytes):
        return head
    start = content.rfind("\n", 0, error.span.start) + 1
    end = content.find("\n", start)
    line = content[start : end if end >= 0 else len(content)].removesuffix("\r")
    column = error.span.start - start
    width = max(1, min(error.span.len, len(line) - column, LONGEST_LINE // 2))
    if column + width > LONGEST_LINE:
        # a long line: show the part around the error
        shift = column - LONGEST_LINE // 2
        line, column = line[shift:], column - shift
    line = line[:LONGEST_LINE]
    # tabs are as wide below as above
    margin = "".join("\t" if c == "\t" else " " for c in line[:column])
    shown = "".join(c if c.isprintable() or c == "\t" else REPLACEMENT for c in line)
    return f"{head}\n  {shown}\n  {margin}{'^' * width}"


def _visible(message: str) -> str:
    """Returns the message with escapes of the characters that a screen does not show."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in message)


def find_invalid(module: Operation | None) -> Operation | None:
    """Returns the innermost operation that does not verify, None if all do."""
    found = None
    inside = [module] if module is not None else []
    while invalid := next((op for op in inside if _is_invalid(op)), None):
        found = invalid
        inside = [op for region in invalid.regions for block in region.blocks for op in block.ops]
    return found


def _is_invalid(op: Operation) -> bool:
    try:
        op.verify()
    except Exception:
        return True
    return False


def describe_failure(
    error: Exception, pass_name: str | None, file: str, module: Operation | None = None
) -> str:
    """
    Returns the message of a check or a pass, with its operation.

    If the error does not name an operation, it is searched in `module`.
    """
    message = str(error).strip() or type(error).__name__
    message = shorten(message.removeprefix("Operation does not verify: "))
    op = getattr(error, "operation", None) or find_invalid(module)
    where, subject = f"{file}: ", ""
    if isinstance(op, Operation):
        where = position_of(op) or where
        subject = f"'{op.name}' op{_result_names(op)}: "
    during = f"{pass_name}: " if pass_name else ""
    return f"{where}error: {during}{subject}{message}"


def position_of(op: Operation) -> str:
    """
    Returns `file:line:col: ` of the operation, or of the nearest one around it that has a position.
    """
    around: Operation | None = op
    while around is not None:
        location = around.location
        if isinstance(location, FileLineColLoc):
            return f"{location.filename.data}:{location.line.data}:{location.column.data}: "
        around = around.parent_op()
    return ""


def _result_names(op: Operation) -> str:
    names = [_name(r) for r in op.results if r.name_hint]
    return f" ({', '.join(names)})" if names else ""


def _name(value: SSAValue) -> str:
    return f"%{value.name_hint}"
