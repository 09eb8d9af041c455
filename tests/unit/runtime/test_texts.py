"""The texts that the package and compiled models show."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version

import glow
import pytest
from glow.runtime.cpu_backend import CpuBackend
from glow.tests.support.small_models import graph, small_network


def test_short_texts_of_a_model_and_its_parts():
    model = glow.compile(graph())
    assert repr(model) == (
        "<CompiledModel on cpu: x float32[2, 3], y float32[2, 3] -> sum float32[2, 3], "
        "difference float32[2, 3]>"
    )
    assert repr(model.get_inputs()[0]) == "TensorInfo('x', float32[2, 3])"
    assert repr(model.stages).startswith("<Stages: imported, optimized, ")
    assert repr(model.memory) == (
        "MemoryPlan(arena_bytes=0, lower_bound=0, weight_bytes=0, buffers=(0))"
    )
    assert repr(model.backend) == "CpuBackend()"
    assert (
        repr(CpuBackend(threads=2, target_cpu="haswell"))
        == "CpuBackend(threads=2, target_cpu='haswell')"
    )
    assert repr(model._program) == "<CpuProgram: 0 bytes of weights, 0 of activations>"
    interpreted = glow.compile(graph(), "interpreter")
    assert repr(interpreted._program) == "<InterpretedProgram: 3 operations>"
    assert repr(glow.quantization.Quantization(dynamic=True)) == "Quantization(dynamic=True)"
    symbolic = glow.compile(small_network(1), "interpreter")
    assert repr(symbolic).startswith("<SymbolicModel on interpreter: image float32[batch, 3, 8, 10")
    assert repr(symbolic).endswith("; 0 of at most 8 specializations>")


def test_the_package_shows_what_it_has():
    assert {"__version__", "compile", "CompiledModel", "quantization"} <= set(dir(glow))
    assert glow.__version__ == version("glow-compiler")
    script = "import glow, sys; print([m for m in ('numpy', 'xdsl', 'onnx') if m in sys.modules])"
    script += "; print(glow.quantization.Quantization())"
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert out.stdout.split("\n")[:2] == ["[]", "glow-quantize"]
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        glow.nothing  # pyright: ignore
