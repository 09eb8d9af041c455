"""Attributes of the `vta` dialect: the configuration, dependence flags, and the type of DRAM."""

from __future__ import annotations

from dataclasses import fields
from enum import IntFlag
from functools import cache, lru_cache
from typing import Any

from xdsl.dialects import func
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, IntegerType, i64
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import (
    Data,
    Operation,
    ParametrizedAttribute,
    SpacedOpaqueSyntaxAttribute,
    TypeAttribute,
)
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from .config import DEFAULT, AluOpcode, Engine, VtaConfig, VtaMemory, changed

CONFIG = "vta.config"
"""The attribute of a function that makes it a program for a VTA."""
LAYER = "vta.layer"
"""The attribute of the first instruction of a layer: its name."""

_ALWAYS_PRINTED = ("batch", "block_in", "block_out")
_PARAMETERS = tuple(f.name for f in fields(VtaConfig))
_CACHED = 1 << 16


@irdl_attr_definition
class ConfigAttr(Data[VtaConfig]):
    """
    The machine: the shape of the GEMM core, and other values that differ from the default.

    `#vta.config<batch = 1, block_in = 16, block_out = 16, inp_depth = 512, design = "chisel">`
    """

    name = "vta.config"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> VtaConfig:
        def parse_size() -> tuple[str, Any]:
            name = parser.parse_identifier("the name of a size")
            if name not in _PARAMETERS:
                parser.raise_error(f"expected one of {', '.join(_PARAMETERS)}, found {name}")
            parser.parse_punctuation("=")
            if isinstance(getattr(DEFAULT, name), str):
                return name, parser.parse_str_literal()
            return name, parser.parse_integer(allow_boolean=False, allow_negative=False)

        sizes = parser.parse_comma_separated_list(parser.Delimiter.ANGLE, parse_size)
        try:
            return VtaConfig(**dict(sizes))
        except ValueError as e:
            parser.raise_error(str(e))

    def print_parameter(self, printer: Printer) -> None:
        always = {name: getattr(self.data, name) for name in _ALWAYS_PRINTED}
        shown = [
            f'{name} = "{value}"' if isinstance(value, str) else f"{name} = {value}"
            for name, value in (always | changed(self.data)).items()
        ]
        printer.print_string(f"<{', '.join(shown)}>")


def config_of(op: Operation) -> VtaConfig:
    """
    Returns the configuration of the program that `op` is in, or is.

    Raises VerifyException if there is none.
    """
    function = op if isinstance(op, func.FuncOp) else op.parent_op()
    found = function.attributes.get(CONFIG) if isinstance(function, func.FuncOp) else None
    if not isinstance(found, ConfigAttr):
        raise VerifyException(
            f"expected to be in a func.func with the attribute {CONFIG} = #{ConfigAttr.name}<...>"
        )
    return found.data


class Tokens(IntFlag):
    """
    Dependence flags. An instruction first waits for a token from each neighbour that it pops, and
    when it has finished sends one to each that it pushes. See `Engine.prev` and `Engine.next`.
    """

    NONE = 0
    POP_PREV = 1
    POP_NEXT = 2
    PUSH_PREV = 4
    PUSH_NEXT = 8

    @property
    def flags(self) -> dict[str, int]:
        """The fields of the instruction by name, each 0 or 1."""
        return {str(flag.name).lower(): int(flag in self) for flag in _FLAGS}

    def popped(self, engine: Engine) -> list[Engine | None]:
        """
        Returns the neighbours of `engine` whose tokens it waits for; None if there is no such.
        """
        found = ((Tokens.POP_PREV, engine.prev), (Tokens.POP_NEXT, engine.next))
        return [other for flag, other in found if flag in self]

    def pushed(self, engine: Engine) -> list[Engine | None]:
        """Returns the neighbours of `engine` that it sends tokens to; None if there is no such."""
        found = ((Tokens.PUSH_PREV, engine.prev), (Tokens.PUSH_NEXT, engine.next))
        return [other for flag, other in found if flag in self]


_FLAGS = (Tokens.POP_PREV, Tokens.POP_NEXT, Tokens.PUSH_PREV, Tokens.PUSH_NEXT)


@irdl_attr_definition
class TokensAttr(Data[Tokens]):
    """`#vta.tokens<pop_prev, push_next>`; operations print it as `pop(load) push(store)`."""

    name = "vta.tokens"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Tokens:
        def parse_flag() -> Tokens:
            name = parser.parse_keyword_in([str(flag.name).lower() for flag in _FLAGS])
            return Tokens[name.upper()]

        tokens = Tokens.NONE
        for flag in parser.parse_comma_separated_list(parser.Delimiter.ANGLE, parse_flag):
            tokens |= flag
        return tokens

    def print_parameter(self, printer: Printer) -> None:
        shown = (name for name, is_set in self.data.flags.items() if is_set)
        printer.print_string(f"<{', '.join(shown)}>")


@irdl_attr_definition
class MemoryAttr(EnumAttribute[VtaMemory], SpacedOpaqueSyntaxAttribute):
    name = "vta.memory"


@irdl_attr_definition
class AluOpcodeAttr(EnumAttribute[AluOpcode], SpacedOpaqueSyntaxAttribute):
    name = "vta.alu_opcode"


@irdl_attr_definition
class DramType(ParametrizedAttribute, TypeAttribute):
    """`!vta.dram`: the address of a region of DRAM."""

    name = "vta.dram"


DRAM = DramType()
"""The one instance."""


# Attributes are immutable, and programs repeat few values many times.


@cache
def tokens_attr(engine: Engine, pop: tuple[Engine, ...], push: tuple[Engine, ...]) -> TokensAttr:
    """
    Returns the flags of an instruction of `engine` by the neighbours that it exchanges tokens with.

    Raises ValueError for an engine that is no neighbour.
    """
    tokens = Tokens.NONE
    for others, prev, after in (
        (pop, Tokens.POP_PREV, Tokens.POP_NEXT),
        (push, Tokens.PUSH_PREV, Tokens.PUSH_NEXT),
    ):
        for other in others:
            if other not in (engine.prev, engine.next):
                raise ValueError(f"{engine} has no queue of tokens with {other}")
            tokens |= prev if other == engine.prev else after
    return TokensAttr(tokens)


@cache
def memory_attr(memory: VtaMemory) -> MemoryAttr:
    return MemoryAttr(memory)


@cache
def alu_opcode_attr(opcode: AluOpcode) -> AluOpcodeAttr:
    return AluOpcodeAttr(opcode)


@lru_cache(_CACHED)
def number(value: int) -> IntegerAttr[IntegerType]:
    """Returns `value : i64`."""
    return IntegerAttr(value, i64)


@lru_cache(_CACHED)
def numbers(*values: int) -> DenseArrayBase[IntegerType]:
    """Returns `array<i64: values>`."""
    return DenseArrayBase.from_list(i64, values)
