"""Instructions that move data between DRAM and the buffers of the chip."""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence

from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, opt_operand_def, opt_prop_def, prop_def
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

from .attributes import DRAM, MemoryAttr, memory_attr, number, numbers, tokens_attr
from .config import Engine, Opcode, VtaConfig, VtaMemory
from .dram import MicroOpsOp, RegionOp
from .fields import memory_layout
from .instruction import NUMBER, NUMBERS, Engines, TokenLists, VtaInstruction, values_of

_NO_PADDING = (0, 0, 0, 0)


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


class Transfer(VtaInstruction, abc.ABC):
    """
    Moves `size = [y_size, x_size]` elements between DRAM and a buffer: rows follow each other in
    the buffer, and are `stride` elements apart in DRAM (by default x_size). An x_size of 0 moves
    nothing; then only the tokens matter.
    """

    sram = prop_def(NUMBER)
    region = opt_operand_def(DRAM)
    dram = prop_def(NUMBER)
    size = prop_def(NUMBERS)
    stride = opt_prop_def(NUMBER)

    layout = staticmethod(memory_layout)
    custom_directives = (TokenLists, DramAddress)

    @property
    @abc.abstractmethod
    def memory_type(self) -> VtaMemory:
        """The memory type of the instruction."""

    @property
    def padding(self) -> tuple[int, ...]:
        """Zero elements around the data: before and after in y, before and after in x."""
        return _NO_PADDING

    @property
    def region_op(self) -> RegionOp | MicroOpsOp | None:
        """The definition of the region; None for an absolute address."""
        owner = None if self.region is None else self.region.owner
        return owner if isinstance(owner, RegionOp | MicroOpsOp) else None

    def shape(self) -> tuple[int, int, int]:
        """Returns y_size, x_size and x_stride."""
        rows, columns = values_of(self.size, 2)
        return rows, columns, columns if self.stride is None else self.stride.value.data

    def dram_base(self, config: VtaConfig) -> int:
        """Returns the address in DRAM, in elements of the memory type."""
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
        if self.memory_type is VtaMemory.UOP:
            depth = config.usable_micro_ops
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
            if first * element < config.base_address:
                raise VerifyException(
                    f"expected addresses from {config.base_address} on, the base address of the "
                    f"machine, found {first * element}"
                )
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
    `pad = [y before, y after, x before, x after]` zero elements (`inp`, `acc` and `acc8` only).
    LOAD executes it for `inp` and `wgt`, COMPUTE for `uop`, `acc` and `acc8`.

    ```mlir
    vta.load inp[0] from %x[12] size [3, 14] stride 56 pad [1, 0, 1, 1] pop(compute) push(compute)
    ```
    """

    name = "vta.load"

    memory = prop_def(MemoryAttr)
    pad = opt_prop_def(NUMBERS)

    assembly_format = (
        "$memory `[` $sram `]` `from` custom<DramAddress>($region, $dram) `size` $size "
        "(`stride` $stride^)? (`pad` $pad^)? custom<TokenLists>($tokens) attr-dict"
    )

    @staticmethod
    def of(
        memory: VtaMemory,
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
        Returns `rows` x `columns` elements from element `dram` of `region`, or of DRAM if that is
        None.
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
    def memory_type(self) -> VtaMemory:
        return self.memory.data

    @property
    def padding(self) -> tuple[int, ...]:
        return values_of(self.pad, 4)

    def check(self, config: VtaConfig) -> None:
        memory = self.memory_type
        if memory is VtaMemory.OUT:
            raise VerifyException("expected a load of uop, wgt, inp, acc or acc8, found out")
        if any(self.padding) and not memory.pads:
            raise VerifyException(f"expected no padding of {memory}, found {self.pad}")
        rows, columns, _ = self.shape()
        if memory is VtaMemory.UOP and columns and rows != 1:
            raise VerifyException(f"expected one row of micro-ops, found {rows}")
        if isinstance(self.region_op, MicroOpsOp) and memory is not VtaMemory.UOP:
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
        Returns `rows` x `columns` elements to element `dram` of `region`, or of DRAM if that is
        None.
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
    def memory_type(self) -> VtaMemory:
        return VtaMemory.OUT

    def check(self, config: VtaConfig) -> None:
        region = self.region_op
        if isinstance(region, MicroOpsOp) or (region and not region.kind.data.writable):
            raise VerifyException(f"expected a region that is written, found {region.label}")
        super().check(config)
