"""The report of a quantization: what is quantized, what stays float, and why."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..errors import QuantizationError
from ..glow_dialects.quant import QuantizedType
from ..wording import counted
from .options import Quantization

KEPT_VALUE, KEPT_OPERATOR = "it is kept in float", "its operator is kept in float"
"""Why a product stays float that was asked to."""
_LISTED = 5
"""Reasons in an error."""


@dataclass
class Report:
    """The result of quantizing a graph."""

    quantized: list[str] = field(default_factory=list)
    """Names of the results of products that compute in integers now."""
    types: dict[str, QuantizedType] = field(default_factory=dict)
    """The types of activations, by the name of the value."""
    kept: dict[str, str] = field(default_factory=dict)
    """Why products and values stay float, by name."""
    unmatched: str = ""
    """What of the profile and the graph did not match."""

    def lines(self) -> list[str]:
        """Returns the report as text."""
        products = counted(len(self.quantized), "product")
        text = [f"{products} quantized, {counted(len(self.types), 'activation')}"]
        text += [f"{name} stays float: {why}" for name, why in self.kept.items()]
        return [*text, self.unmatched] if self.unmatched else text

    def expect_success(self, options: Quantization, profiled: bool, replaced: bool) -> None:
        """
        Raises QuantizationError, with the reasons, if nothing is quantized, unless all products
        stay float because the options ask for it. `profiled` is whether a profile was given, and
        `replaced` whether anything was quantized without one.
        """
        if replaced or self.quantized or self.types:
            return
        if self.kept and set(self.kept.values()) <= {KEPT_VALUE, KEPT_OPERATOR}:
            return
        kinds = ["convolutions"] * profiled
        kinds += ["matrix products", "fully connected layers"] * (profiled or options.dynamic)
        kinds += ["lookups in constant tables of f32"] * (options.embeddings != "float")
        reasons = [f"{name} stays float: {why}" for name, why in list(self.kept.items())[:_LISTED]]
        if len(self.kept) > _LISTED:
            reasons.append(f"and {len(self.kept) - _LISTED} more")
        why = "; ".join(reasons) or "the network has none that can be quantized"
        raise QuantizationError(f"nothing is quantized, of {', '.join(kinds)}: {why}")
