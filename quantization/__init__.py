"""
Quantization guided by profiles: run a network on data, choose ranges, compare with float.

```python
from glow import quantization

profile = quantization.profile("model.onnx", batches)        # an iterable of {input: array}
profile.save("profile.json")
choices = quantization.Quantization(profile="profile.json", calibration="entropy")
model = glow.compile("model.onnx", quantize=choices)

graph = quantization.optimized_graph("model.onnx")           # what is to be quantized
report = quantization.quantize(graph, profile, choices)      # in place
matched = profile.match(graph)                               # histograms by value
type = quantization.calibrate(matched.histograms[value], "entropy", "symmetric", "i8")
```
"""

from .calibration import (
    METHODS,
    calibrate,
    calibrate_rows,
    calibrate_weights,
    calibrated_range,
)
from .choices_file import load_choices, save_choices
from .compare import (
    Comparison,
    ValueComparison,
    compare_graphs,
    name_values,
    snr_db,
    top1_agreement,
    values_of,
)
from .conversions import Conversion, remaining_conversions
from .histogram import Histogram
from .observed import ObservedGraph, compare_observed
from .options import Quantization
from .pictures import draw_profile
from .profiles import Match, Profile, ValueProfile
from .profiling import Profiler, optimized_graph, profile
from .quantize import quantize
from .report import Report
from .schemas import (
    SCHEMAS,
    STORAGES,
    Range,
    bias_type,
    choose,
    choose_per_axis,
    dequantize_array,
    quantize_array,
)
from .weights import WeightQuantization, WeightReport, quantize_weights

__all__ = [
    "METHODS",
    "SCHEMAS",
    "STORAGES",
    "Comparison",
    "Conversion",
    "Histogram",
    "Match",
    "ObservedGraph",
    "Profile",
    "Profiler",
    "Quantization",
    "Range",
    "Report",
    "ValueComparison",
    "ValueProfile",
    "WeightQuantization",
    "WeightReport",
    "bias_type",
    "calibrate",
    "calibrate_rows",
    "calibrate_weights",
    "calibrated_range",
    "choose",
    "choose_per_axis",
    "compare_graphs",
    "compare_observed",
    "dequantize_array",
    "draw_profile",
    "load_choices",
    "name_values",
    "optimized_graph",
    "profile",
    "quantize",
    "quantize_array",
    "quantize_weights",
    "remaining_conversions",
    "save_choices",
    "snr_db",
    "top1_agreement",
    "values_of",
]
