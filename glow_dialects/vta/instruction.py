"""
The common part of all instructions of a VTA: dependence tokens, and fields that must fit.

A program is the body of a `func.func` with the attribute `vta.config`. Each engine executes its
instructions in the order of the program; engines wait for each other only by tokens: `pop(load)`
waits for a token of LOAD, `push(store)` sends one to STORE when all is done.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping

from xdsl.dialects import func
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, IntegerType, i64
from xdsl.ir import Attribute
from xdsl.irdl import IRDLOperation, irdl_op_definition, prop_def
from xdsl.irdl.declarative_assembly_format import (
    AttributeVariable,
    CustomDirective,
    ParsingState,
    PrintingState,
    irdl_custom_directive,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ...wording import counted
from .attributes import Tokens, TokensAttr, config_of, tokens_attr
from .config import Engine, Opcode, VtaConfig
from .fields import Layout, generic_layout

NUMBER = IntegerAttr.constr(i64)
NUMBERS = DenseArrayBase.constr(i64)
_NO_TOKENS = TokensAttr(Tokens.NONE)

Engines = tuple[Engine, ...]


def values_of(attribute: DenseArrayBase[IntegerType] | None, count: int) -> tuple[int, ...]:
    """Returns the numbers in an attribute; zeros if there is none."""
    if attribute is None:
        return (0,) * count
    values = attribute.get_values()
    if len(values) != count:
        raise VerifyException(f"expected {counted(count, 'number')}, found {attribute}")
    return values


@irdl_custom_directive
class TokenLists(CustomDirective):
    """`pop(load, store) push(load)`, or nothing."""

    tokens: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        op_type = state.op_type
        assert issubclass(op_type, VtaInstruction)
        engine = op_type.engine_for(state.properties)
        pop, push = _parse_engines(parser, "pop"), _parse_engines(parser, "push")
        try:
            self.tokens.set(state, tokens_attr(engine, pop, push))
        except ValueError as e:
            parser.raise_error(str(e))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        assert isinstance(op, VtaInstruction)
        tokens, engine = op.tokens.data, op.engine
        for word, engines in (("pop", tokens.popped(engine)), ("push", tokens.pushed(engine))):
            if engines:
                state.print_whitespace(printer)
                printer.print_string(f"{word}({', '.join(str(e) for e in engines)})")
                state.should_emit_space = True
                state.last_was_punctuation = False


def _parse_engines(parser: Parser, word: str) -> Engines:
    if parser.parse_optional_keyword(word) is None:
        return ()
    return tuple(
        parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, lambda: parser.parse_str_enum(Engine)
        )
    )


class VtaInstruction(IRDLOperation, abc.ABC):
    """An instruction of 128 bits."""

    tokens = prop_def(TokensAttr, default_value=_NO_TOKENS)

    custom_directives = (TokenLists,)

    @classmethod
    def engine_for(cls, properties: Mapping[str, Attribute]) -> Engine:
        """Returns the engine that executes an instruction with these properties."""
        return Engine.COMPUTE

    @property
    def engine(self) -> Engine:
        """The engine that executes it."""
        return self.engine_for(self.properties)

    @staticmethod
    @abc.abstractmethod
    def layout(config: VtaConfig) -> Layout:
        """
        Returns the places of its fields. Raises ValueError if they do not fit into an instruction.
        """

    @abc.abstractmethod
    def fields(self, config: VtaConfig) -> dict[str, int]:
        """
        Returns the numbers in the fields, by the names of the specification; 0 where none is given.
        """

    def check(self, config: VtaConfig) -> None:
        """Raises VerifyException if an instruction whose fields fit has no meaning."""

    def verify_(self) -> None:
        config = config_of(self)
        try:
            layout = self.layout(config)
        except ValueError as e:
            raise VerifyException(str(e)) from None
        for name, value in self.fields(config).items():
            field = layout[name]
            if not field.low <= value <= field.high:
                raise VerifyException(
                    f"expected {name} from {field.low} to {field.high}, found {value}"
                )
        self._check_tokens()
        self.check(config)

    def _check_tokens(self) -> None:
        tokens, engine = self.tokens.data, self.engine
        if tokens is Tokens.NONE:
            return
        if None in (*tokens.popped(engine), *tokens.pushed(engine)):
            raise VerifyException(
                "expected tokens between neighbours of load - compute - store, "
                f"found {self.tokens} on an instruction of {engine}"
            )


@irdl_op_definition
class FinishOp(VtaInstruction):
    """
    Ends the program. COMPUTE executes it, so a program whose last store must be done before pops a
    token of STORE.

    ```mlir
    vta.finish pop(store)
    ```
    """

    name = "vta.finish"

    assembly_format = "custom<TokenLists>($tokens) attr-dict"

    @staticmethod
    def of(pop: Engines = (), push: Engines = ()) -> FinishOp:
        return FinishOp.create(properties={"tokens": tokens_attr(Engine.COMPUTE, pop, push)})

    @staticmethod
    def layout(config: VtaConfig) -> Layout:
        return generic_layout()

    def fields(self, config: VtaConfig) -> dict[str, int]:
        return {"opcode": Opcode.FINISH, **self.tokens.data.flags}

    def check(self, config: VtaConfig) -> None:
        if not isinstance(self.next_op, func.ReturnOp):
            raise VerifyException("expected vta.finish to be the last instruction")
