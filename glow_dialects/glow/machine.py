"""
The attribute `glow.machine` of a module, which describes the processor that the module is for.

It is for this compiler what a data layout or a target description is in MLIR. Passes that depend on
the processor read it with `machine_of`.
"""

from __future__ import annotations

from enum import StrEnum

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from ...errors import CompileError
from ..machine import DEFAULT_MACHINE, KINDS, MachineDescription

MACHINE = "glow.machine"
"""The name under which a module has the attribute."""
_ALWAYS_PRINTED = frozenset({"vector_bits", "vector_registers", "l1_bytes", "l2_bytes"})


@irdl_attr_definition
class MachineAttr(Data[MachineDescription]):
    """
    A description of a processor: its vectors, special instructions, and caches in bytes.

    ```mlir
    #glow.machine<vector_bits = 256, vector_registers = 16, int8_dots = [vpdpbusd],
                  l1_bytes = 32768, l2_bytes = 524288>
    ```

    Facts that are left out are those of a processor with AVX-512: `vector_bits = 512`,
    `vector_registers = 32`, `has_fma = true`, no products of bytes or bf16, no lookups of bytes,
    no tile registers, `l1_bytes = 32768`, `l2_bytes = 1048576`, `l3_bytes = 4194304`.
    """

    name = "glow.machine"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> MachineDescription:
        facts: dict[str, int | bool | tuple[StrEnum, ...]] = {}
        known = DEFAULT_MACHINE.facts()

        def parse_fact() -> None:
            name = parser.parse_identifier(" for a fact about the machine")
            if name not in known:
                parser.raise_error(f"expected one of {', '.join(known)}, found {name}")
            if name in facts:
                parser.raise_error(f"{name} is given twice")
            parser.parse_punctuation("=")
            match known[name]:
                case bool():
                    facts[name] = parser.parse_boolean()
                case int():
                    facts[name] = parser.parse_integer(allow_boolean=False)
                case _:
                    facts[name] = tuple(
                        parser.parse_comma_separated_list(
                            parser.Delimiter.SQUARE, lambda: _parse_kind(parser, name)
                        )
                    )

        parser.parse_comma_separated_list(parser.Delimiter.ANGLE, parse_fact)
        try:
            return MachineDescription(**facts)  # pyright: ignore[reportArgumentType]
        except ValueError as error:
            parser.raise_error(str(error))

    def print_parameter(self, printer: Printer) -> None:
        default = DEFAULT_MACHINE.facts()
        shown = [
            f"{name} = {_text(value)}"
            for name, value in self.data.facts().items()
            if name in _ALWAYS_PRINTED or value != default[name]
        ]
        printer.print_string(f"<{', '.join(shown)}>")


def machine_of(module: ModuleOp) -> MachineDescription:
    """
    Returns the machine of a module, `DEFAULT_MACHINE` if it has none. Raises CompileError if the
    attribute of that name is another.
    """
    found = module.attributes.get(MACHINE)
    if found is None:
        return DEFAULT_MACHINE
    if not isinstance(found, MachineAttr):
        raise CompileError(f"expected #{MACHINE}<...> as {MACHINE} of a module, found {found}")
    return found.data


def _parse_kind(parser: AttrParser, fact: str) -> StrEnum:
    _, known = KINDS[fact]
    name = parser.parse_identifier(f" for one of the {fact}")
    kind = next((k for k in known if k == name), None)
    if kind is None:
        parser.raise_error(f"expected one of {', '.join(known)}, found {name}")
    return kind


def _text(value: int | bool | tuple[str, ...]) -> str:
    return f"[{', '.join(value)}]" if isinstance(value, tuple) else str(value).lower()
