"""The DRAM of a program: named regions, and tables of micro-ops."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import prod

from xdsl.dialects.builtin import (
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    StringAttr,
    TensorType,
    i64,
)
from xdsl.dialects.utils import EnumAttribute
from xdsl.ir import Attribute, Operation, SpacedOpaqueSyntaxAttribute
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    result_def,
)
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
from xdsl.utils.str_enum import StrEnum

from ...wording import counted
from ..blob import BlobAttr
from ..elements import element_bytes, type_bytes
from ..value_names import value_name
from .attributes import DRAM, config_of, number, numbers
from .config import VtaMemory
from .fields import micro_op_layout

MICRO_OP_FIELDS = ("dst", "src", "wgt")
_ADDRESS = IntegerAttr.constr(i64)


class RegionKind(StrEnum):
    """
    The use of a region. `input` and `constant` are filled before the program starts and never
    written. `output` is read after the program ends. Only the program uses `scratch`, whose regions
    may overlap.
    """

    INPUT = "input"
    OUTPUT = "output"
    CONSTANT = "constant"
    SCRATCH = "scratch"

    @property
    def writable(self) -> bool:
        return self in (RegionKind.OUTPUT, RegionKind.SCRATCH)


@irdl_attr_definition
class RegionKindAttr(EnumAttribute[RegionKind], SpacedOpaqueSyntaxAttribute):
    name = "vta.region_kind"


def _check_base(op: Operation, address: int) -> None:
    """Raises VerifyException for an address before those that programs may use."""
    base = config_of(op).base_address
    if 0 <= address < base:
        raise VerifyException(
            f"expected an address from {base} on, the base address of the machine, found {address}"
        )


@irdl_op_definition
class RegionOp(IRDLOperation):
    """
    A named range of DRAM: `size` bytes at the byte address `address`, a multiple of the size of the
    elements as which the region is loaded or stored. A constant has a value of as many bytes.

    Instructions count from the start of the region, in elements of the memory that they move.

    `array` is the tensor that it holds, which the host gives to an input or takes from an output.
    `tiles` says how it is stored: dimensions are padded to whole tiles of that many elements, tiles
    are in row order, and so are the elements in each; none is plain row order. NCHW with [1, 16, 1,
    1] is stored as N, C/16, H, W, 16.

    ```mlir
    %x = vta.region input "x" at 0 bytes 3136 as tensor<1x3x14x14xi8> tiles [1, 16, 1, 1]
    %w = vta.region constant "conv.weight" at 4096 bytes 2304 = #glow.blob<"m.onnx", 64, 2304>
    ```
    """

    name = "vta.region"

    kind = prop_def(RegionKindAttr)
    label = prop_def(StringAttr)
    address = prop_def(_ADDRESS)
    size = prop_def(_ADDRESS)
    value = opt_prop_def(DenseIntOrFPElementsAttr | BlobAttr)
    array = opt_prop_def(TensorType)
    tiles = opt_prop_def(DenseArrayBase.constr(i64))
    result = result_def(DRAM)

    assembly_format = (
        "$kind $label `at` $address `bytes` $size (`=` $value^)? (`as` $array^)? "
        "(`tiles` $tiles^)? attr-dict"
    )

    @staticmethod
    def of(
        kind: RegionKind,
        name: str,
        address: int,
        size: int,
        value: DenseIntOrFPElementsAttr | BlobAttr | None = None,
        array: TensorType | None = None,
        tiles: Sequence[int] | None = None,
    ) -> RegionOp:
        """Returns `size` and `address` in bytes."""
        properties: dict[str, Attribute] = {
            "kind": RegionKindAttr(kind),
            "label": StringAttr(name),
            "address": number(address),
            "size": number(size),
        }
        if value is not None:
            properties["value"] = value
        if array is not None:
            properties["array"] = array
        if tiles is not None:
            properties["tiles"] = numbers(*tiles)
        op = RegionOp.create(properties=properties, result_types=[DRAM])
        op.result.name_hint = value_name(name)
        return op

    @property
    def first_byte(self) -> int:
        return self.address.value.data

    @property
    def num_bytes(self) -> int:
        return self.size.value.data

    def tile(self) -> tuple[int, ...]:
        """Returns the sizes of a tile of `array`; ones without `tiles`."""
        if self.tiles is not None:
            return self.tiles.get_values()
        return (1,) * (self.array.get_num_dims() if self.array is not None else 0)

    def verify_(self) -> None:
        _check_base(self, self.first_byte)
        self._check_value()
        self._check_array()

    def _check_value(self) -> None:
        if self.first_byte < 0 or self.num_bytes < 1:
            raise VerifyException(
                "expected an address from 0 on and at least 1 byte, found "
                f"{counted(self.num_bytes, 'byte')} at {self.first_byte}"
            )
        is_constant = self.kind.data is RegionKind.CONSTANT
        if is_constant != (self.value is not None):
            wanted = "a value of a constant" if is_constant else "no value"
            raise VerifyException(f"expected {wanted}, found {self.value or 'none'}")
        if self.value is not None and _value_bytes(self.value) != self.num_bytes:
            raise VerifyException(
                f"expected a value of {counted(self.num_bytes, 'byte')}, "
                f"found {_value_bytes(self.value)}"
            )

    def _check_array(self) -> None:
        shape = () if self.array is None else self.array.get_shape()
        tile = self.tile()
        if len(tile) != len(shape) or any(t < 1 for t in tile) or any(d < 1 for d in shape):
            raise VerifyException(
                f"expected a tensor of known sizes and as many tile sizes of at least 1, found "
                f"{self.array or 'no tensor'} and {list(tile)}"
            )
        if self.array is None:
            return
        padded = prod(-(-d // t) * t for d, t in zip(shape, tile, strict=True))
        wanted = padded * element_bytes(self.array.element_type)
        if wanted > self.num_bytes:
            raise VerifyException(
                f"expected at least {wanted} bytes for {self.array} in tiles of {list(tile)}, "
                f"found {self.num_bytes}"
            )


def _value_bytes(value: DenseIntOrFPElementsAttr | BlobAttr) -> int:
    if isinstance(value, BlobAttr):
        return value.data.size
    if not isinstance(value.type, TensorType):
        raise VerifyException(f"expected a tensor, found {value.type}")
    return type_bytes(value.type)


@irdl_custom_directive
class MicroOpList(CustomDirective):
    """`[(dst, src, wgt), ...]`."""

    ops: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        def parse_micro_op() -> Sequence[int]:
            found = parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_integer)
            if len(found) != len(MICRO_OP_FIELDS):
                parser.raise_error(
                    f"expected (dst, src, wgt), found {counted(len(found), 'number')}"
                )
            return found

        found = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parse_micro_op)
        self.ops.set(state, _flat(found))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        assert isinstance(op, MicroOpsOp)
        state.print_whitespace(printer)
        with printer.in_square_brackets():
            printer.print_list(op.micro_ops(), lambda triple: printer.print_string(str(triple)))


def _flat(micro_ops: Iterable[Sequence[int]]) -> DenseArrayBase:
    return DenseArrayBase.from_list(i64, [index for triple in micro_ops for index in triple])


@irdl_op_definition
class MicroOpsOp(IRDLOperation):
    """
    A table of micro-ops in DRAM, at the byte address `address`: for each the indices of the
    accumulator, of the source (activation or accumulator) and of the weight to which the offsets of
    the loops are added.

    ```mlir
    %u = vta.micro_ops "conv1" at 8192 [(0, 0, 0), (1, 16, 0)]
    ```
    """

    name = "vta.micro_ops"

    label = prop_def(StringAttr)
    address = prop_def(_ADDRESS)
    ops = prop_def(DenseArrayBase.constr(i64))
    result = result_def(DRAM)

    custom_directives = (MicroOpList,)
    assembly_format = "$label `at` $address custom<MicroOpList>($ops) attr-dict"

    @staticmethod
    def of(name: str, address: int, micro_ops: Iterable[Sequence[int]]) -> MicroOpsOp:
        """Takes `micro_ops` as triples (dst, src, wgt); `address` is in bytes."""
        op = MicroOpsOp.create(
            properties={
                "label": StringAttr(name),
                "address": number(address),
                "ops": _flat(micro_ops),
            },
            result_types=[DRAM],
        )
        op.result.name_hint = value_name(name)
        return op

    def micro_ops(self) -> Iterator[tuple[int, int, int]]:
        """Returns the triples (dst, src, wgt)."""
        values = self.ops.get_values()
        return zip(values[0::3], values[1::3], values[2::3], strict=True)

    @property
    def first_byte(self) -> int:
        return self.address.value.data

    @property
    def num_bytes(self) -> int:
        return len(self.ops) // len(MICRO_OP_FIELDS) * config_of(self).element_bytes(VtaMemory.UOP)

    def verify_(self) -> None:
        try:
            layout = micro_op_layout(config_of(self))
        except ValueError as e:
            raise VerifyException(str(e)) from None
        if self.first_byte < 0:
            raise VerifyException(f"expected an address from 0 on, found {self.first_byte}")
        _check_base(self, self.first_byte)
        values = self.ops.get_values()
        if len(values) % len(MICRO_OP_FIELDS) or not values:
            raise VerifyException("expected at least one triple (dst, src, wgt)")
        for i, name in enumerate(MICRO_OP_FIELDS):
            low, high = min(values[i::3]), max(values[i::3])
            if low < 0 or high > layout[name].high:
                raise VerifyException(
                    f"expected {name} of a micro-op from 0 to {layout[name].high}, "
                    f"found {low if low < 0 else high}"
                )
