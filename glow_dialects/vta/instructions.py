"""
The instructions of a VTA: one operation each, with the fields of the instruction as properties.

A program is the body of a `func.func` with the attribute `vta.config`. Each engine executes its
instructions in the order of the program; engines wait for each other only by tokens:
`pop(load)` waits for a token of LOAD, `push(store)` sends one to STORE when all is done.
"""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, UnitAttr, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    opt_operand_def,
    opt_prop_def,
    prop_def,
)
from xdsl.irdl.declarative_assembly_format import (
    AttributeVariable,
    CustomDirective,
    OptionalOperandVariable,
    ParsingState,
    PrintingState,
    irdl_custom_directive,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from .attributes import (
    DRAM,
    AluOpcodeAttr,
    MemoryAttr,
    Tokens,
    TokensAttr,
    alu_opcode_attr,
    config_of,
    memory_attr,
    number,
    numbers,
    tokens_attr,
)
from .config import AluOpcode, Engine, Memory, Opcode, VtaConfig
from .dram import MicroOpsOp, RegionOp
from .fields import Layout, alu_layout, gemm_layout, generic_layout, memory_layout

_NUMBER = IntegerAttr.constr(i64)
_NUMBERS = DenseArrayBase.constr(i64)
_NO_TOKENS = TokensAttr(Tokens.NONE)
_ZEROS = (0, 0)
_NO_PADDING = (0, 0, 0, 0)

Engines = tuple[Engine, ...]


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


@irdl_custom_directive
class DramAddress(CustomDirective):
    """`%region[8]`: elements from the start of a region, or `dram[8]`: from address 0."""

    region: OptionalOperandVariable
    dram: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        region = parser.parse_optional_unresolved_operand()
        if region is None:
            parser.parse_keyword("dram")
        self.region.set(state, region)
        with parser.in_square_brackets():
            self.dram.set(state, number(parser.parse_integer(allow_boolean=False)))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        assert isinstance(op, Transfer)
        state.print_whitespace(printer)
        if op.region is None:
            printer.print_string("dram")
        else:
            printer.print_ssa_value(op.region)
        printer.print_string(f"[{op.dram.value.data}]")
        state.should_emit_space = True
        state.last_was_punctuation = False


class VtaInstruction(IRDLOperation, abc.ABC):
    """An instruction of 128 bits."""

    tokens = prop_def(TokensAttr, default_value=_NO_TOKENS)

    custom_directives = (TokenLists, DramAddress)

    @classmethod
    def engine_for(cls, properties: Mapping[str, Attribute]) -> Engine:
        """The engine that executes an instruction with these properties."""
        return Engine.COMPUTE

    @property
    def engine(self) -> Engine:
        """The engine that executes it."""
        return self.engine_for(self.properties)

    @staticmethod
    @abc.abstractmethod
    def layout(config: VtaConfig) -> Layout:
        """Where its fields are. Raises ValueError if they do not fit into an instruction."""

    @abc.abstractmethod
    def fields(self, config: VtaConfig) -> dict[str, int]:
        """The numbers in the fields, by the names of the specification; 0 where none is given."""

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


def _values(attribute: DenseArrayBase | None, count: int) -> tuple[int, ...]:
    """The numbers in an attribute; zeros if there is none."""
    if attribute is None:
        return (0,) * count
    values = attribute.get_values()
    if len(values) != count:
        raise VerifyException(f"expected {count} numbers, found {attribute}")
    return values


class Transfer(VtaInstruction, abc.ABC):
    """
    Moves `size = [y_size, x_size]` elements between DRAM and a buffer: rows follow each other in
    the buffer, and are `stride` elements apart in DRAM (by default x_size). An x_size of 0 moves
    nothing; then only the tokens matter.
    """

    sram = prop_def(_NUMBER)
    region = opt_operand_def(DRAM)
    dram = prop_def(_NUMBER)
    size = prop_def(_NUMBERS)
    stride = opt_prop_def(_NUMBER)

    layout = staticmethod(memory_layout)

    @property
    @abc.abstractmethod
    def memory_type(self) -> Memory:
        """The memory type of the instruction."""

    @property
    def padding(self) -> tuple[int, ...]:
        """Zero elements around the data: before and behind in y, before and behind in x."""
        return _NO_PADDING

    @property
    def region_op(self) -> RegionOp | MicroOpsOp | None:
        """The definition of the region; None for an absolute address."""
        owner = None if self.region is None else self.region.owner
        return owner if isinstance(owner, RegionOp | MicroOpsOp) else None

    def shape(self) -> tuple[int, int, int]:
        """y_size, x_size and x_stride."""
        rows, columns = _values(self.size, 2)
        return rows, columns, columns if self.stride is None else self.stride.value.data

    def dram_base(self, config: VtaConfig) -> int:
        """The address in DRAM, in elements of the memory type."""
        region = self.region_op
        start = 0 if region is None else region.first_byte // config.element_bytes(self.memory_type)
        return start + self.dram.value.data

    def fields(self, config: VtaConfig) -> dict[str, int]:
        y_size, x_size, x_stride = self.shape()
        top, bottom, left, right = self.padding
        return {
            "opcode": Opcode.LOAD if isinstance(self, LoadOp) else Opcode.STORE,
            **self.tokens.data.flags,
            "memory_type": self.memory_type.code,
            "sram_base": self.sram.value.data,
            "dram_base": self.dram_base(config),
            "y_size": y_size,
            "x_size": x_size,
            "x_stride": x_stride,
            "y_pad_0": top,
            "y_pad_1": bottom,
            "x_pad_0": left,
            "x_pad_1": right,
        }

    def check(self, config: VtaConfig) -> None:
        if self.shape()[1] == 0:
            return
        self._check_buffer(config)
        self._check_dram(config)

    def _check_buffer(self, config: VtaConfig) -> None:
        (y_size, x_size, _), (top, bottom, left, right) = self.shape(), self.padding
        begin = self.sram.value.data
        end = begin + (top + y_size + bottom) * (left + x_size + right)
        depth = config.depth(self.memory_type)
        if end > depth:
            raise VerifyException(
                f"expected elements below {depth} of {self.memory_type}, found {begin} to {end - 1}"
            )

    def _check_dram(self, config: VtaConfig) -> None:
        y_size, x_size, x_stride = self.shape()
        first = self.dram.value.data
        end = first + max(y_size - 1, 0) * x_stride + x_size
        region, element = self.region_op, config.element_bytes(self.memory_type)
        if self.region is not None and region is None:
            raise VerifyException("expected the result of vta.region or vta.micro_ops")
        if region is None:
            return
        if region.first_byte % element:
            raise VerifyException(
                f"expected a region at a multiple of {element} bytes, the size of an element of "
                f"{self.memory_type}, found {region.label} at {region.first_byte}"
            )
        if first < 0 or end > region.num_bytes // element:
            raise VerifyException(
                f"expected elements within the {region.num_bytes // element} of "
                f"{region.label}, found {first} to {end - 1}"
            )


def _transfer_properties(
    engine: Engine,
    sram: int,
    dram: int,
    shape: tuple[int, int, int | None],
    pop: Engines,
    push: Engines,
) -> dict[str, Attribute]:
    rows, columns, stride = shape
    properties: dict[str, Attribute] = {
        "sram": number(sram),
        "dram": number(dram),
        "size": numbers(rows, columns),
        "tokens": tokens_attr(engine, pop, push),
    }
    if stride is not None and stride != columns:
        properties["stride"] = number(stride)
    return properties


@irdl_op_definition
class LoadOp(Transfer):
    """
    Moves elements from DRAM to the elements `sram`, `sram + 1`, ... of a buffer, surrounded by
    `pad = [y before, y behind, x before, x behind]` zero elements (`inp`, `acc` and `acc8` only).
    LOAD executes it for `inp` and `wgt`, COMPUTE for `uop`, `acc` and `acc8`.

    ```mlir
    vta.load inp[0] from %x[12] size [3, 14] stride 56 pad [1, 0, 1, 1] pop(compute) push(compute)
    ```
    """

    name = "vta.load"

    memory = prop_def(MemoryAttr)
    pad = opt_prop_def(_NUMBERS)

    assembly_format = (
        "$memory `[` $sram `]` `from` custom<DramAddress>($region, $dram) `size` $size "
        "(`stride` $stride^)? (`pad` $pad^)? custom<TokenLists>($tokens) attr-dict"
    )

    @staticmethod
    def of(
        memory: Memory,
        sram: int,
        region: SSAValue | None,
        dram: int,
        rows: int,
        columns: int,
        stride: int | None = None,
        pad: Sequence[int] = _NO_PADDING,
        pop: Engines = (),
        push: Engines = (),
    ) -> LoadOp:
        """
        `rows` x `columns` elements from element `dram` of `region`, or of DRAM if that is None.
        """
        shape = (rows, columns, stride)
        properties = _transfer_properties(memory.engine, sram, dram, shape, pop, push)
        properties["memory"] = memory_attr(memory)
        if any(pad):
            properties["pad"] = numbers(*pad)
        return LoadOp.create(operands=[] if region is None else [region], properties=properties)

    @classmethod
    def engine_for(cls, properties: Mapping[str, Attribute]) -> Engine:
        memory = properties["memory"]
        assert isinstance(memory, MemoryAttr)
        return memory.data.engine

    @property
    def memory_type(self) -> Memory:
        return self.memory.data

    @property
    def padding(self) -> tuple[int, ...]:
        return _values(self.pad, 4)

    def check(self, config: VtaConfig) -> None:
        memory = self.memory_type
        if memory is Memory.OUT:
            raise VerifyException("expected a load of uop, wgt, inp, acc or acc8, found out")
        if any(self.padding) and not memory.pads:
            raise VerifyException(f"expected no padding of {memory}, found {self.pad}")
        rows, columns, _ = self.shape()
        if memory is Memory.UOP and columns and rows != 1:
            raise VerifyException(f"expected one row of micro-ops, found {rows}")
        if isinstance(self.region_op, MicroOpsOp) and memory is not Memory.UOP:
            raise VerifyException(f"expected a region of data, found {self.region_op.label}")
        super().check(config)


@irdl_op_definition
class StoreOp(Transfer):
    """
    Moves the low bits of accumulators `sram`, `sram + 1`, ... to DRAM. STORE executes it.

    ```mlir
    vta.store out[0] to %y[12] size [3, 14] stride 56 pop(compute) push(compute)
    ```
    """

    name = "vta.store"

    assembly_format = (
        "`out` `[` $sram `]` `to` custom<DramAddress>($region, $dram) `size` $size "
        "(`stride` $stride^)? custom<TokenLists>($tokens) attr-dict"
    )

    @staticmethod
    def of(
        sram: int,
        region: SSAValue | None,
        dram: int,
        rows: int,
        columns: int,
        stride: int | None = None,
        pop: Engines = (),
        push: Engines = (),
    ) -> StoreOp:
        """
        `rows` x `columns` elements to element `dram` of `region`, or of DRAM if that is None.
        """
        shape = (rows, columns, stride)
        return StoreOp.create(
            operands=[] if region is None else [region],
            properties=_transfer_properties(Engine.STORE, sram, dram, shape, pop, push),
        )

    @classmethod
    def engine_for(cls, properties: Mapping[str, Attribute]) -> Engine:
        return Engine.STORE

    @property
    def memory_type(self) -> Memory:
        return Memory.OUT

    def check(self, config: VtaConfig) -> None:
        region = self.region_op
        if isinstance(region, MicroOpsOp) or (region and not region.kind.data.writable):
            raise VerifyException(f"expected a region that is written, found {region.label}")
        super().check(config)


class Loop(VtaInstruction, abc.ABC):
    """
    Executes the micro-ops `uops = [begin, end]` in two loops `loop = [outer, inner]`, which add
    `dst = [outer, inner]`, `src` and `wgt` per iteration to the indices of the micro-ops; none is
    [0, 0].
    """

    uops = prop_def(_NUMBERS)
    loop = prop_def(_NUMBERS)
    dst = prop_def(_NUMBERS)
    src = opt_prop_def(_NUMBERS)

    def _loop_fields(self, opcode: Opcode, reset: int) -> dict[str, int]:
        begin, end = _values(self.uops, 2)
        outer, inner = _values(self.loop, 2)
        dst_out, dst_in = _values(self.dst, 2)
        src_out, src_in = _values(self.src, 2)
        return {
            "opcode": opcode,
            **self.tokens.data.flags,
            "reset": reset,
            "uop_bgn": begin,
            "uop_end": end,
            "iter_out": outer,
            "iter_in": inner,
            "dst_factor_out": dst_out,
            "dst_factor_in": dst_in,
            "src_factor_out": src_out,
            "src_factor_in": src_in,
        }

    def check(self, config: VtaConfig) -> None:
        begin, end = self.uops.get_values()
        if begin > end or end > config.uop_depth:
            raise VerifyException(
                f"expected a range of the {config.uop_depth} micro-ops, found {begin} to {end}"
            )


def _loop_properties(
    uops: tuple[int, int],
    loop: tuple[int, int],
    factors: dict[str, tuple[int, int]],
    pop: Engines,
    push: Engines,
) -> dict[str, Attribute]:
    properties: dict[str, Attribute] = {
        "uops": numbers(*uops),
        "loop": numbers(*loop),
        "tokens": tokens_attr(Engine.COMPUTE, pop, push),
    }
    for name, pair in factors.items():
        if name == "dst" or pair != _ZEROS:
            properties[name] = numbers(*pair)
    return properties


@irdl_op_definition
class GemmOp(Loop):
    """
    `acc[d] += inp[s] . wgt[w]` for each micro-op in each iteration; with `reset`, `acc[d] = 0`.

    ```mlir
    vta.gemm uops [0, 9] loop [14, 14] dst [14, 1] src [16, 1] pop(load) push(load)
    vta.gemm reset uops [9, 10] loop [14, 14] dst [14, 1]
    ```
    """

    name = "vta.gemm"

    reset = opt_prop_def(UnitAttr)
    wgt = opt_prop_def(_NUMBERS)

    layout = staticmethod(gemm_layout)
    assembly_format = (
        "(`reset` $reset^)? `uops` $uops `loop` $loop `dst` $dst (`src` $src^)? (`wgt` $wgt^)? "
        "custom<TokenLists>($tokens) attr-dict"
    )

    @staticmethod
    def of(
        uops: tuple[int, int],
        loop: tuple[int, int] = (1, 1),
        dst: tuple[int, int] = _ZEROS,
        src: tuple[int, int] = _ZEROS,
        wgt: tuple[int, int] = _ZEROS,
        reset: bool = False,
        pop: Engines = (),
        push: Engines = (),
    ) -> GemmOp:
        """Pairs are (begin, end) for `uops` and (outer, inner) for the rest."""
        factors = {"dst": dst, "src": src, "wgt": wgt}
        properties = _loop_properties(uops, loop, factors, pop, push)
        if reset:
            properties["reset"] = UnitAttr()
        return GemmOp.create(properties=properties)

    def fields(self, config: VtaConfig) -> dict[str, int]:
        outer, inner = _values(self.wgt, 2)
        fields = self._loop_fields(Opcode.GEMM, int(self.reset is not None))
        return {**fields, "wgt_factor_out": outer, "wgt_factor_in": inner}


@irdl_op_definition
class AluOp(Loop):
    """
    `acc[d] = opcode(acc[d], acc[s])` for each micro-op in each iteration, or with the number `imm`
    instead of `acc[s]`.

    ```mlir
    vta.alu add uops [0, 1] loop [14, 14] dst [14, 1] src [14, 1] pop(load)
    vta.alu max uops [0, 1] loop [14, 14] dst [14, 1] imm 0 push(store)
    ```
    """

    name = "vta.alu"

    opcode = prop_def(AluOpcodeAttr)
    imm = opt_prop_def(_NUMBER)

    layout = staticmethod(alu_layout)
    assembly_format = (
        "$opcode `uops` $uops `loop` $loop `dst` $dst (`src` $src^)? (`imm` $imm^)? "
        "custom<TokenLists>($tokens) attr-dict"
    )

    @staticmethod
    def of(
        opcode: AluOpcode,
        uops: tuple[int, int],
        loop: tuple[int, int] = (1, 1),
        dst: tuple[int, int] = _ZEROS,
        src: tuple[int, int] = _ZEROS,
        imm: int | None = None,
        pop: Engines = (),
        push: Engines = (),
    ) -> AluOp:
        """Pairs are (begin, end) for `uops` and (outer, inner) for the rest."""
        properties = _loop_properties(uops, loop, {"dst": dst, "src": src}, pop, push)
        properties["opcode"] = alu_opcode_attr(opcode)
        if imm is not None:
            properties["imm"] = number(imm)
        return AluOp.create(properties=properties)

    def fields(self, config: VtaConfig) -> dict[str, int]:
        return {
            **self._loop_fields(Opcode.ALU, 0),
            "alu_opcode": self.opcode.data.code,
            "use_imm": int(self.imm is not None),
            "imm": 0 if self.imm is None else self.imm.value.data,
        }


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
