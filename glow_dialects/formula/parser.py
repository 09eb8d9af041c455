"""
The parser of formulas.

```
formula    = equation ["where" equation {";" equation}]
equation   = name "[" [index {"," index}] "]" "=" expression ["for" range {"," range}]
range      = bound | sum "<" sum
index      = expression ["at" (number | name | "(" expression ")")]
expression = or ["if" or "else" expression]
or         = and {"or" and}                and     = not {"and" not}
not        = "not" not | comparison        comparison = sum [("<" | "<=" | ...) sum]
sum        = term {("+" | "-") term}       term    = unary {("*" | "/" | "//" | "%") unary}
unary      = "-" unary | power             power   = atom ["**" unary]
atom       = number | "inf" | name [".."] | "(" expression ")" | function "(" expressions ")"
           | name "[" indices ["|" "outside" ":" expression] "]"
           | ("sum" | "prod" | "max" | "min") "(" bound {"," bound} ")" term
bound      = name [".."] ["<" sum]
```

`max(a, b)` is a function of two values unless an operand follows.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import NamedTuple, NoReturn

from .problem import FormulaError
from .syntax import (
    REDUCTIONS,
    Binary,
    Bound,
    Call,
    Choice,
    ElementAccess,
    Equation,
    Expression,
    Formula,
    Index,
    Limit,
    Name,
    Number,
    Reduction,
    Unary,
    parts_of,
)

KEYWORDS = frozenset({"if", "else", "and", "or", "not", "for", "where", "at", "outside", "inf"})
_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.(?!\.)\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)"
    r"|(?P<name>[A-Za-z_]\w*)|(?P<sign>\.\.|\*\*|//|<=|>=|==|!=|[-+*/%<>=()\[\],;:|])|(?P<bad>\S))"
)
_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
_DEEPEST = 40
"""Nested brackets and operators; more are a mistake, or an attack."""
_DEEPEST_VALUE = 160
"""
Operators one inside of the other, as each in `a + b + c` is in the next one. Passes go down into
values with about four calls for each.
"""
TOO_DEEP = "expected less deeply nested terms; name parts of them with 'where'"


class _Token(NamedTuple):
    kind: str
    """`number`, `name`, `keyword`, `sign` or `end`"""
    text: str
    at: int


@cache
def parse(text: str) -> Formula:
    """
    Returns the formula of a text; the same object for the same text. Raises FormulaError, which
    shows the place.
    """
    parser = _Parser(text)
    try:
        return parser.formula()
    except RecursionError:
        raise FormulaError(TOO_DEEP, text, 0) from None


def _tokens(text: str) -> list[_Token]:
    found: list[_Token] = []
    end = 0
    while (match := _TOKEN.match(text, end)) is not None:
        kind = match.lastgroup
        assert kind is not None
        word, at, end = match.group(kind), match.start(kind), match.end()
        if kind == "bad":
            raise FormulaError(f"unexpected character {word!r}", text, at)
        found.append(_Token("keyword" if word in KEYWORDS else kind, word, at))
    return [*found, _Token("end", "", len(text.rstrip()))]


class _Parser:
    def __init__(self, text: str):
        self._text = text
        self._tokens = _tokens(text)
        self._next = 0
        self._depth = 0

    # tokens

    @property
    def _token(self) -> _Token:
        return self._tokens[self._next]

    def _fail(self, expected: str, token: _Token | None = None) -> NoReturn:
        token = token or self._token
        found = f"{token.text!r}" if token.text else "the end"
        raise FormulaError(f"expected {expected}, found {found}", self._text, token.at)

    def _take(self) -> _Token:
        token = self._token
        self._next += token.kind != "end"
        return token

    def _accept(self, *texts: str) -> _Token | None:
        return self._take() if self._token.text in texts else None

    def _expect(self, text: str, after: str = "") -> _Token:
        return self._accept(text) or self._fail(f"{text!r}{after}")

    def _name(self, what: str) -> _Token:
        return self._take() if self._token.kind == "name" else self._fail(what)

    # equations

    def formula(self) -> Formula:
        result = self._equation()
        definitions: list[Equation] = []
        if self._accept("where"):
            definitions.append(self._equation())
            while self._accept(";"):
                definitions.append(self._equation())
        if self._token.kind != "end":
            self._fail("an operator, 'for', 'where' or the end" if not definitions else "';'")
        return Formula(result, tuple(definitions), self._text)

    def _equation(self) -> Equation:
        name = self._name("the name of a result, as in y[i] = x[i]")
        self._expect("[", f" after {name.text}")
        indices = self._indices()
        self._expect("]")
        self._expect("=")
        value = self._expression()
        self._expect_shallow(value)
        ranges = [self._range()] if self._accept("for") else []
        while ranges and self._accept(","):
            ranges.append(self._range())
        bounds = tuple(r for r in ranges if isinstance(r, Bound))
        limits = tuple(r for r in ranges if isinstance(r, Limit))
        return Equation(name.text, indices, value, bounds, limits, name.at)

    def _expect_shallow(self, value: Expression) -> None:
        level, depth = [value], 0
        while level:
            depth += 1
            if depth > _DEEPEST_VALUE:
                raise FormulaError(TOO_DEEP, self._text, level[0].at)
            level = [part for e in level for part in parts_of(e)]

    def _indices(self) -> tuple[Index, ...]:
        if self._token.text in ("]", "|"):
            return ()
        found = [self._index()]
        while self._accept(","):
            found.append(self._index())
        return tuple(found)

    def _index(self) -> Index:
        value = self._expression()
        if not self._accept("at"):
            return Index(value)
        if self._accept("("):
            dims = self._expression()
            self._expect(")")
            return Index(value, dims)
        token = self._take()
        if token.kind == "number":
            return Index(value, self._number(token))
        if token.kind != "name":
            self._fail("the number of a dimension or the name of a property", token)
        return Index(value, Name(token.text, False, token.at))

    def _bounds(self) -> tuple[Bound, ...]:
        found = [self._bound()]
        while self._accept(","):
            found.append(self._bound())
        return tuple(found)

    def _range(self) -> Bound | Limit:
        """`i < 3`, or what limits several indices, as in `i + 2 * k < 9`"""
        start = self._token
        left = self._sum()
        if isinstance(left, Name):
            return Bound(left, self._sum() if self._accept("<") else None)
        self._expect("<", " after an index, or a sum of indices")
        return Limit(left, self._sum(), start.at)

    def _bound(self) -> Bound:
        token = self._name("an index")
        index = Name(token.text, self._accept("..") is not None, token.at)
        return Bound(index, self._sum() if self._accept("<") else None)

    # expressions

    def _expression(self) -> Expression:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise FormulaError(TOO_DEEP, self._text, self._token.at)
        then = self._or()
        token = self._accept("if")
        if token is not None:
            condition = self._or()
            self._expect("else", " after the condition")
            then = Choice(then, condition, self._expression(), token.at)
        self._depth -= 1
        return then

    def _left(self, part: Callable[[], Expression], *operators: str) -> Expression:
        """Operators of one level, from left to right."""
        found = part()
        while (token := self._accept(*operators)) is not None:
            found = Binary(token.text, found, part(), token.at)
        return found

    def _or(self) -> Expression:
        return self._left(self._and, "or")

    def _and(self) -> Expression:
        return self._left(self._not, "and")

    def _not(self) -> Expression:
        negations: list[_Token] = []
        while (token := self._accept("not")) is not None:
            negations.append(token)
        found = self._comparison()
        for token in reversed(negations):
            found = Unary("not", found, token.at)
        return found

    def _comparison(self) -> Expression:
        left = self._sum()
        token = self._accept(*_COMPARISONS)
        if token is None:
            return left
        found = Binary(token.text, left, self._sum(), token.at)
        if self._token.text in _COMPARISONS:
            self._fail("'and' between two comparisons")
        return found

    def _sum(self) -> Expression:
        return self._left(self._term, "+", "-")

    def _term(self) -> Expression:
        return self._left(self._unary, "*", "/", "//", "%")

    def _unary(self) -> Expression:
        token = self._accept("-")
        if token is None:
            return self._power()
        self._depth += 1
        if self._depth > _DEEPEST:
            raise FormulaError(TOO_DEEP, self._text, token.at)
        found = Unary("-", self._unary(), token.at)
        self._depth -= 1
        return found

    def _power(self) -> Expression:
        base = self._atom()
        token = self._accept("**")
        return base if token is None else Binary("**", base, self._unary(), token.at)

    def _atom(self) -> Expression:
        token = self._take()
        if token.kind == "number":
            return self._number(token)
        if token.text == "inf":
            return Number(float("inf"), token.at)
        if token.text == "(":
            found = self._expression()
            self._expect(")")
            return found
        if token.kind != "name":
            self._fail("a value", token)
        if self._token.text == "[":
            return self._access(token)
        if self._token.text == "(":
            return self._reduction(token) if self._reduces(token) else self._call(token)
        return Name(token.text, self._accept("..") is not None, token.at)

    def _number(self, token: _Token) -> Number:
        return Number(int(token.text) if token.text.isdigit() else float(token.text), token.at)

    def _access(self, name: _Token) -> ElementAccess:
        self._expect("[")
        indices = self._indices()
        outside = None
        if self._accept("|"):
            self._expect("outside", " after '|'")
            self._expect(":")
            outside = self._expression()
        self._expect("]")
        return ElementAccess(name.text, indices, outside, name.at)

    def _call(self, name: _Token) -> Call:
        self._expect("(")
        arguments: list[Expression] = []
        if self._token.text != ")":
            arguments.append(self._expression())
            while self._accept(","):
                arguments.append(self._expression())
        self._expect(")")
        if self._token.kind in ("name", "number") or self._token.text == "(":
            self._fail(f"an operator ({name.text} is no reduction: sum, prod, max and min are)")
        return Call(name.text, tuple(arguments), name.at)

    def _reduces(self, name: _Token) -> bool:
        """
        Returns whether a name before a bracket begins a reduction: an operand follows the bracket.
        """
        if name.text not in REDUCTIONS:
            return False
        if name.text in ("sum", "prod"):
            return True
        depth, place = 0, self._next
        while self._tokens[place].kind != "end":
            depth += {"(": 1, ")": -1}.get(self._tokens[place].text, 0)
            place += 1
            if depth == 0:
                break
        after = self._tokens[place]
        return after.kind in ("name", "number") or after.text in ("(", "inf")

    def _reduction(self, name: _Token) -> Reduction:
        self._expect("(")
        bounds = self._bounds()
        self._expect(")")
        return Reduction(name.text, bounds, self._term(), name.at)
