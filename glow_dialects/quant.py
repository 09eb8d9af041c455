"""
Quantized element types in MLIR's own spelling.

`!quant.uniform<i8:f32, 0.05:3>` is an 8-bit integer `q` for the real number `(q - 3) * 0.05`.
`!quant.uniform<i8:f32:0, {0.05:3, 0.1}>` has one scale and zero point for each index of
dimension 0. See the [MLIR quant dialect](https://mlir.llvm.org/docs/Dialects/QuantDialect/).
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    ArrayAttr,
    BFloat16Type,
    FixedBitwidthType,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatData,
    IntAttr,
    IntegerType,
    NoneAttr,
    Signedness,
)
from xdsl.ir import Attribute, Dialect, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from .integers import integer_range, of_short_name, short_name

_MAX_STORAGE_BITS = 32


def _float_literal(value: float) -> str:
    """Returns the shortest text that reads back as `value` and is an MLIR float literal."""
    text = repr(value)
    mantissa, e, exponent = text.partition("e")
    if "." not in mantissa:
        mantissa += ".0"
    return mantissa + e + exponent


@irdl_attr_definition
class QuantizedType(ParametrizedAttribute, FixedBitwidthType):
    """
    A uniformly quantized number: `real = (stored - zero_point) * scale`.

    `axis` is None and there is one scale for a per-tensor type; otherwise there is one scale for
    each index of dimension `axis`. `storage_min` and `storage_max` narrow the stored range.
    """

    name = "quant.uniform"

    storage: IntegerType
    expressed: Attribute
    axis: IntAttr | NoneAttr
    scales: ArrayAttr[FloatData]
    zero_points: ArrayAttr[IntAttr]
    storage_min: IntAttr
    storage_max: IntAttr

    def __init__(
        self,
        storage: IntegerType,
        expressed: Attribute,
        scale: float | Sequence[float],
        zero_point: int | Sequence[int] = 0,
        axis: int | None = None,
        storage_bounds: tuple[int, int] | None = None,
    ):
        scales = [scale] if isinstance(scale, float | int) else list(scale)
        points = [zero_point] * len(scales) if isinstance(zero_point, int) else list(zero_point)
        low, high = storage_bounds or integer_range(storage)
        numbers = {p: IntAttr(p) for p in set(points)}
        super().__init__(
            storage,
            expressed,
            NoneAttr() if axis is None else IntAttr(axis),
            ArrayAttr([FloatData(float(s)) for s in scales]),
            ArrayAttr([numbers[p] for p in points]),
            IntAttr(low),
            IntAttr(high),
        )

    def __hash__(self) -> int:
        """Returns a hash of the first scale for all, because types are hashed often."""
        return hash((self.storage, self.expressed, self.axis, self.scales.data[:1]))

    @property
    def bitwidth(self) -> int:
        return self.storage.bitwidth

    @property
    def compile_time_size(self) -> int:
        return self.storage.size

    @property
    def is_per_axis(self) -> bool:
        return isinstance(self.axis, IntAttr)

    def scale_values(self) -> tuple[float, ...]:
        return tuple(s.data for s in self.scales)

    def zero_point_values(self) -> tuple[int, ...]:
        return tuple(z.data for z in self.zero_points)

    def verify(self) -> None:
        self._verify_storage()
        self._verify_scales()

    def _verify_storage(self) -> None:
        if self.storage.signedness.data is Signedness.SIGNED:
            raise VerifyException(f"expected a storage type such as i8 or u8, found {self.storage}")
        _check_width(self.storage)
        if not isinstance(self.expressed, Float16Type | BFloat16Type | Float32Type | Float64Type):
            raise VerifyException(f"expected a float expressed type, found {self.expressed}")
        low, high = integer_range(self.storage)
        if not low <= self.storage_min.data < self.storage_max.data <= high:
            raise VerifyException(
                f"expected a storage range within {low}:{high}, "
                f"found {self.storage_min.data}:{self.storage_max.data}"
            )
        for point in self.zero_point_values():
            if not low <= point <= high:
                raise VerifyException(f"expected a zero point in {low}:{high}, found {point}")

    def _verify_scales(self) -> None:
        count = len(self.scales)
        if count != len(self.zero_points):
            raise VerifyException(
                f"expected as many zero points as scales ({count}), found {len(self.zero_points)}"
            )
        if not self.is_per_axis and count != 1:
            raise VerifyException(f"expected one scale without an axis, found {count}")
        if not count:
            raise VerifyException("expected at least one scale, found none")
        if isinstance(self.axis, IntAttr) and self.axis.data < 0:
            raise VerifyException(f"expected an axis of at least 0, found {self.axis.data}")
        for scale in self.scale_values():
            if not 0 < scale < float("inf"):
                raise VerifyException(f"expected a positive finite scale, found {scale}")

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(short_name(self.storage))
            bounds = (self.storage_min.data, self.storage_max.data)
            if bounds != integer_range(self.storage):
                printer.print_string(f"<{bounds[0]}:{bounds[1]}>")
            printer.print_string(":")
            printer.print_attribute(self.expressed)
            if isinstance(self.axis, IntAttr):
                printer.print_string(f":{self.axis.data}")
            printer.print_string(", ")
            entries = [
                _float_literal(s) + (f":{z}" if z else "")
                for s, z in zip(self.scale_values(), self.zero_point_values(), strict=True)
            ]
            printer.print_string("{" + ", ".join(entries) + "}" if self.is_per_axis else entries[0])

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        start = parser.pos
        with parser.in_angle_brackets():
            storage = _parse_storage(parser)
            low, high = integer_range(storage)
            if parser.parse_optional_punctuation("<"):
                low = parser.parse_integer()
                parser.parse_punctuation(":")
                high = parser.parse_integer()
                parser.parse_punctuation(">")
            parser.parse_punctuation(":", " between storage and expressed type")
            expressed = parser.parse_type()
            axis = NoneAttr()
            if parser.parse_optional_punctuation(":"):
                axis = IntAttr(parser.parse_integer(allow_boolean=False))
            parser.parse_punctuation(",", " before the scale")
            if isinstance(axis, IntAttr):
                entries = parser.parse_comma_separated_list(
                    parser.Delimiter.BRACES, lambda: _parse_entry(parser)
                )
            else:
                entries = [_parse_entry(parser)]
        parameters = (
            storage,
            expressed,
            axis,
            ArrayAttr([FloatData(s) for s, _ in entries]),
            ArrayAttr([IntAttr(z) for _, z in entries]),
            IntAttr(low),
            IntAttr(high),
        )
        try:
            cls.new(parameters)
        except VerifyException as error:
            # here the error can still name the place
            parser.raise_error(str(error), start, parser.pos)
        return parameters


def real_type(element: Attribute) -> Attribute:
    """Returns the element type of what elements mean: reals for quantized ones, or their own."""
    return element.expressed if isinstance(element, QuantizedType) else element


def _parse_storage(parser: AttrParser) -> IntegerType:
    start = parser.pos
    name = parser.parse_identifier(" for the storage type")
    if (found := of_short_name(name)) is None:
        parser.raise_error(f"expected a storage type such as i8 or u8, found {name}")
    try:
        # before its range is computed, which of an integer of very many bits takes forever
        _check_width(found)
    except VerifyException as error:
        parser.raise_error(str(error), start, parser.pos)
    return found


def _check_width(storage: IntegerType) -> None:
    if not 1 < storage.width.data <= _MAX_STORAGE_BITS:
        raise VerifyException(f"expected a storage type of 2 to 32 bits, found {storage}")


def _parse_entry(parser: AttrParser) -> tuple[float, int]:
    scale = float(parser.parse_number())
    zero_point = parser.parse_integer() if parser.parse_optional_punctuation(":") else 0
    return scale, zero_point


QUANT = Dialect("quant", [], [QuantizedType])
