"""
Quantization guided by profiles: run a network on data, choose ranges, compare with float.

```python
from glow import quantization

profile = quantization.profile("model.onnx", batches)        # an iterable of {input: array}
profile.save("profile.json")
matched = profile.match(module)                              # histograms of the values of a graph
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
from .histogram import Histogram
from .profiles import Match, Profile, ValueProfile
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

__all__ = [
    "METHODS",
    "SCHEMAS",
    "STORAGES",
    "Histogram",
    "Match",
    "Profile",
    "Range",
    "ValueProfile",
    "bias_type",
    "calibrate",
    "calibrate_rows",
    "calibrate_weights",
    "calibrated_range",
    "choose",
    "choose_per_axis",
    "dequantize_array",
    "quantize_array",
]
