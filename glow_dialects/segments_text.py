"""
The syntax of operands that belong to named groups: `trips(%n) carries(%a, %b)`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import SSAValue
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer


def print_groups(printer: Printer, groups: Mapping[str, Sequence[SSAValue]]) -> None:
    """Prints the groups that are not empty, each as its name and its values in parentheses."""
    for name, values in groups.items():
        if values:
            printer.print_string(f" {name}(")
            printer.print_list(values, printer.print_ssa_value)
            printer.print_string(")")


def parse_groups(parser: Parser, names: Sequence[str]) -> dict[str, list[UnresolvedOperand]]:
    """Returns the values of each group, in the order of `names`; none of those left out."""
    found: dict[str, list[UnresolvedOperand]] = {}
    for name in names:
        found[name] = []
        if parser.parse_optional_keyword(name):
            found[name] = parser.parse_comma_separated_list(
                parser.Delimiter.PAREN, parser.parse_unresolved_operand
            )
    return found
