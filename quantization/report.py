"""
The report of a quantization: the values that are quantized, those that stay float, and the reasons.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..errors import QuantizationError
from ..glow_dialects.quant import QuantizedType
from ..wording import counted
from .options import Quantization

KEPT_VALUE, KEPT_OPERATOR = "it is kept in float", "its operator is kept in float"
"""The reasons why a product stays float on request."""
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
    """The reasons why products and values stay float, by name."""
    unmatched: str = ""
    """The parts of the profile and of the graph that did not match."""

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
