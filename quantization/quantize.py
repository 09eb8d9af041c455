"""
Quantizes a graph of floats by the ranges of a profile.

The result has the same form as imported quantized networks: operators in float between
`glow.dequantize` of their operands and `glow.quantize` of their results. `glow-legalize-quantized`
makes integer arithmetic of it.

1. Products (convolutions, fully connected layers, matrix products) are quantized if the backend
   computes them on the types that the options ask for, the profile knows the ranges of their
   activations, and nobody wants them in float.
2. A value is quantized if a product reads it, or if it waits in memory for an elementwise operator
   that follows a product: a residual that is added. Results of products that are only used in float
   stay what they are, and so does what flows from one elementwise operator to the next.
3. A rearrangement of a quantized value, or its maximum over windows, has the type of that value.
4. Constant weights are quantized by their own numbers, biases in the scale of the products.
5. Products in the bodies of branches and loops stay float, since a profile has no ranges of their
   values. They are quantized if that needs no profile (`dynamic`).

Values that stay float are reported, with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass

from ..errors import QuantizationError
from ..glow_dialects.elements import is_float
from ..glow_dialects.glow.base import Node
from ..glow_dialects.glow.machine import machine_of
from ..glow_dialects.operator import element_of
from ..interface.backend import Backend, find_backend
from ..passes.levels import GRAPH
from ..runtime.signature import main_function
from .dynamic import quantize_dynamically
from .embeddings import quantize_embeddings
from .histogram import Histogram
from .options import Quantization
from .profiles import Profile
from .quantizer import Quantizer, why_kept
from .report import Report
from .roles import roles_of

_IN_BODY = "it is in the body of a branch or a loop, whose values a profile does not have"


def quantize(
    module: ModuleOp,
    profile: Profile | None,
    options: Quantization | None = None,
    backend: str | Backend = "cpu",
) -> Report:
    """
    Quantizes the function @main of `module`, which is changed.

    Without a profile, only the operators that `dynamic` and `embeddings` name are quantized. Raises
    QuantizationError if the profile is of another network, for unknown names to keep in float, and
    if nothing is quantized although some products are not to be kept in float.
    """
    options = options or Quantization()
    options.expect_source(profile is not None)
    target = find_backend(backend) if isinstance(backend, str) else backend
    target = target.on(machine_of(module))
    main = main_function(module)
    report = Report()
    histograms: dict[SSAValue, Histogram] = {}
    names = _names(main)
    if profile is not None:
        match = profile.match(module)
        histograms, report.unmatched = dict(match.histograms), match.report()
        names |= match.names
    _expect_known(options.keep_float, main, names)

    def is_kept(node: Node) -> bool:
        why = why_kept(node, options, names)
        if why:
            report.kept[names[node.results[0]]] = why
        return bool(why)

    replaced: dict[SSAValue, SSAValue] = {}
    if options.embeddings != "float":
        replaced = quantize_embeddings(main, options.embeddings, is_kept)
    if options.dynamic:
        products, others = quantize_dynamically(main, is_kept)
        report.kept |= {names[value]: why for value, why in others.items()}
        report.quantized += [names[old] for old in products]
        replaced |= products
    for old, new in replaced.items():
        names[new] = names.pop(old)
        if old in histograms:
            histograms[new] = histograms.pop(old)
    if profile is not None:
        names = _names(main) | names
        report.kept |= {names[product]: _IN_BODY for product in _products_in_bodies(main)}
        Quantizer(main.body.block, histograms, names, options, target, report).run()
    report.expect_success(options, profile is not None, bool(replaced))
    return report


def _names(main: func.FuncOp) -> dict[SSAValue, str]:
    values = [*main.body.block.args, *(r for op in main.body.walk() for r in op.results)]
    return {v: v.name_hint or f"value {i}" for i, v in enumerate(values)}


def _products_in_bodies(main: func.FuncOp) -> Iterator[SSAValue]:
    """Yields the results of products in the bodies of branches and loops."""
    for op in main.body.walk():
        if op.parent is not main.body.block and roles_of(op) is not None:
            if all(is_float(element_of(o.type)) for o in op.operands):
                yield op.results[0]


def _expect_known(keep: tuple[str, ...], main: func.FuncOp, names: Mapping[SSAValue, str]) -> None:
    known = {*names.values(), *(op.name for op in main.body.walk())}
    known |= {f"%{name}" for name in names.values()}
    if unknown := [k for k in keep if k not in known and f"glow.{k}" not in known]:
        raise QuantizationError(
            f"cannot keep {', '.join(unknown)} in float: no value and no operator of the network "
            "is called so"
        )


@dataclass(frozen=True)
class QuantizePass(Quantization, ModulePass):
    """Quantizes a graph by a profile: float operators between dequantize and quantize."""

    name = "glow-quantize"
    level = GRAPH

    digest: str | None = None
    """A hash of the profile, which tells cached programs apart. It is not checked."""
    backend: str = "cpu"
    """The backend whose claims decide which operators are quantized."""
    report: str | None = None
    """A file for the report: what was quantized, what was not, and the reasons."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        profile = None if self.profile is None else Profile.load(self.profile)
        report = quantize(op, profile, self, self.backend)
        if self.report is not None:
            with open(self.report, "w", encoding="utf-8") as file:
                file.write("\n".join(report.lines()) + "\n")
