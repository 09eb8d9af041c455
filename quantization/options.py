"""How a network is to be quantized."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import QuantizationError
from .calibration import DEFAULT_PERCENTILE, METHODS
from .schemas import schema_of, storage_of

_BIASES = ("i32", "i8", "float")


@dataclass(frozen=True)
class Quantization:
    """
    Choices of quantization. Names are keys of `METHODS`, `SCHEMAS` and `STORAGES`.

    Raises QuantizationError for unknown names.
    """

    calibration: str = "min-max"
    """From histograms of activations to ranges."""
    percentile: float = DEFAULT_PERCENTILE
    """For the calibration `percentile`."""
    schema: str = "asymmetric"
    """Of activations."""
    activations: str = "i8"
    """How activations are stored."""
    weight_calibration: str = "min-max"
    weight_schema: str = "symmetric"
    weights: str = "i8"
    """How weights are stored."""
    per_channel: bool = True
    """Whether each output channel of weights has a scale of its own."""
    bias: str = "i32"
    """`i32` in the scale of the products, `i8` in one of its own, or `float`."""
    everything: bool = False
    """
    Whether values between operators that are not products are quantized too, which programs of
    integers alone need. By default, what can be computed in the registers of a loop stays float.
    """
    dynamic: bool = False
    """
    Whether matrix products by constants take the range of their other operand while running,
    instead of from a profile.
    """
    keep_float: tuple[str, ...] = ()
    """Names of values, or operators such as `softmax`, that are computed in float."""

    def __post_init__(self) -> None:
        for method in (self.calibration, self.weight_calibration):
            if method not in METHODS:
                raise QuantizationError(
                    f"expected a calibration of {', '.join(METHODS)}, found {method!r}"
                )
        for schema in (self.schema, self.weight_schema):
            schema_of(schema)
        for storage in (self.activations, self.weights):
            storage_of(storage)
        if self.bias not in _BIASES:
            raise QuantizationError(f"expected a bias of {', '.join(_BIASES)}, found {self.bias!r}")
