"""
String literals that are not closed, or have an unknown escape.

xDSL 0.74 matches string literals by a regular expression with nested repetitions. If the literal is
not closed, matching takes time that is exponential in the length of the rest of the line, and the
message says that the file has ended. `read_string_literals` corrects the lexer for the whole
process; our own contexts call it, importing our dialects does not.
"""

from __future__ import annotations

import re

from xdsl.utils.exceptions import ParseError
from xdsl.utils.lexer import Input, Span
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRToken

_INSIDE = r'"(?:[^"\\\n\v\f]++|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+'
"""xDSL's expression up to the closing quote; repetitions are possessive: none is tried again."""
_BEGINNING = re.compile(_INSIDE)
_WHOLE = re.compile(f'{_INSIDE}"')
_original = MLIRLexer._lex_string_literal


def _lex_string_literal(self: MLIRLexer, start_pos: int) -> MLIRToken:
    try:
        return _original(self, start_pos)
    except ParseError:
        raise _problem(self.input, start_pos) from None


def _problem(text: Input[str], start: int) -> ParseError:
    match = _BEGINNING.match(text.content, start)
    end = start + 1 if match is None else match.end()
    escape = text.content[end : end + 2]
    if escape.startswith("\\") and len(escape.split()[0]) == 2:
        found = f'expected \\n, \\t, \\", \\\\ or \\ and two hexadecimal digits, found {escape}'
        return ParseError(Span(end, end + 2, text), f"unknown escape in a string: {found}")
    return ParseError(Span(start, end, text), "string is not closed")


def read_string_literals() -> None:
    """Corrects xDSL's lexer. Calling it again changes nothing."""
    MLIRLexer._unescaped_characters_regex = _WHOLE
    MLIRLexer._lex_string_literal = _lex_string_literal
