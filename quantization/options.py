"""The choices for quantizing a network."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, fields
from pathlib import Path

from ..errors import QuantizationError
from .calibration import DEFAULT_PERCENTILE, expect_method, expect_percentile
from .schemas import schema_of, storage_of

_BIASES = ("i32", "i8", "float")
_EMBEDDINGS = ("float", "u8", "u4")


@dataclass(frozen=True)
class Quantization:
    """
    Choices of quantization. Names are keys of `METHODS`, `SCHEMAS` and `STORAGES` of this package.

    As text, it is the pass `glow-quantize` with these options, which `glow.compile` takes too:
    `glow.compile(model, quantize=Quantization(profile="profile.json"))`.
    Raises QuantizationError for unknown names and numbers out of range.
    """

    profile: str | None = None
    """The file of a profile. None if there is none, or if it is given apart."""
    calibration: str = "min-max"
    """The calibration of activations: `min-max`, `percentile`, `entropy` or `mse`."""
    percentile: float = DEFAULT_PERCENTILE
    """The percentile of that calibration, above 50 and up to 100."""
    schema: str = "asymmetric"
    """The schema of activations: `asymmetric`, `symmetric`, `symmetric_uint8` or `power_of_two`."""
    activations: str = "i8"
    """The storage of activations: `i8`, `u8`, `i16`, ..."""
    weight_calibration: str = "min-max"
    """The calibration of weights."""
    weight_schema: str = "symmetric"
    """The schema of weights."""
    weights: str = "i8"
    """The storage of weights: `i8`, `i4`, ..."""
    per_channel: bool = True
    """Whether each output channel of weights has a scale of its own."""
    bias: str = "i32"
    """
    The storage of the bias: `i32` in the scale of the products, `i8` in a scale of its own, or
    `float`.
    """
    embeddings: str = "float"
    """The storage of constant tables with row lookups: `u8`, `u4`, or `float`."""
    everything: bool = False
    """
    Whether values between operators that are not products are quantized too, and results that do
    not come from one product or stored value. Programs that compute with integers alone need this.
    By default, values that stay in the registers of a loop are float.
    """
    dynamic: bool = False
    """
    Whether matrix products by constants take the range of their other operand while running,
    instead of from a profile.
    """
    keep_float: tuple[str, ...] = ()
    """
    The names of values, or operators such as `softmax`, that are computed in float. `%matmul` is
    the value only, if an operator is called so too.
    """
    storages: tuple[str, ...] = ()
    """
    The storage of the operands of single products, as `name=i16` with the name of their result.
    """

    def __post_init__(self) -> None:
        for f in fields(Quantization):
            _expect_type(f.name, getattr(self, f.name), f.default)
        for method in (self.calibration, self.weight_calibration):
            expect_method(method)
        expect_percentile(self.percentile)
        for schema in (self.schema, self.weight_schema):
            schema_of(schema)
        for storage in (self.activations, self.weights, *self.product_storages().values()):
            storage_of(storage)
        for name, known in (("bias", _BIASES), ("embeddings", _EMBEDDINGS)):
            if (found := getattr(self, name)) not in known:
                raise QuantizationError(f"expected {name} of {', '.join(known)}, found {found!r}")

    def expect_source(self, profiled: bool) -> None:
        """
        Raises QuantizationError if neither a profile nor an option names anything to quantize.
        """
        if not profiled and not self.dynamic and self.embeddings == "float":
            raise QuantizationError(
                "quantization needs a profile, or dynamic=true; see glow-profile"
            )

    def keeps(self, value: str) -> bool:
        """Returns whether the value of this name is computed in float."""
        return value in self.keep_float or f"%{value}" in self.keep_float

    def product_storages(self) -> dict[str, str]:
        """
        Returns `storages` by the name of the product. Raises QuantizationError for another form.
        """
        pairs = [text.rpartition("=") for text in self.storages]
        if wrong := [storage for name, _, storage in pairs if not name]:
            raise QuantizationError(f"storages: expected name=storage, found {wrong[0]!r}")
        return {name: storage for name, _, storage in pairs}

    @property
    def pipeline(self) -> str:
        """The pass pipeline as text, which `glow.compile` runs."""
        return str(self)

    def __repr__(self) -> str:
        given = [f for f in fields(self) if getattr(self, f.name) != f.default]
        return f"Quantization({', '.join(f'{f.name}={getattr(self, f.name)!r}' for f in given)})"

    def __str__(self) -> str:
        """
        Returns the pass with those options that are not the default, in the syntax of pipelines.
        """
        given = {
            f.name: value for f in fields(self) if (value := getattr(self, f.name)) != f.default
        }
        if self.profile is not None:
            given |= {"profile": str(Path(self.profile).resolve()), "digest": self._digest()}
        options = " ".join(f"{n.replace('_', '-')}={_text(v)}" for n, v in given.items())
        return f"glow-quantize{{{options}}}" if options else "glow-quantize"

    def _digest(self) -> str:
        """
        Returns a hash of the profile, by which programs in the cache are told apart. Raises
        QuantizationError if the file cannot be read.
        """
        try:
            return hashlib.sha256(Path(self.profile or "").read_bytes()).hexdigest()
        except OSError as error:
            raise QuantizationError(f"{self.profile}: cannot be read: {error.strerror}") from None


def _expect_type(name: str, value: object, default: object) -> None:
    """Raises QuantizationError unless a field has the type of its default, None for a path."""
    if isinstance(default, tuple):
        fits = isinstance(value, tuple) and all(isinstance(v, str) for v in value)
    elif isinstance(default, float):
        fits = isinstance(value, int | float) and not isinstance(value, bool)
    else:
        fits = isinstance(value, str if default is None else type(default)) or value is default
    if not fits:
        kinds = {tuple: "a tuple of names", float: "a number", bool: "True or False"}
        kind = kinds.get(type(default), "a text")
        raise QuantizationError(f"expected {name} to be {kind}, found {value!r}")


def _text(value: object) -> str:
    """Returns a value as the option of a pass."""
    if isinstance(value, tuple):
        return ",".join(map(_text, value))
    return str(value).lower() if isinstance(value, int | float) else json.dumps(str(value))
