"""The changes that docs/extending.md shows can be applied, and do what it says."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
DIFFS = ROOT / "docs" / "examples" / "extending"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
FOLDERS = [
    name.removeprefix("glow.")
    for name in PROJECT["tool"]["setuptools"]["packages"]
    if name.count(".") == 1
]
"""The folders of the root that belong to the package."""

CHECKS = {
    "elementwise": """
import glow, numpy as np, onnx
from onnx import TensorProto, helper
x = np.linspace(-3, 3, 33, dtype=np.float32)
f = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [33]) for n in "xy"]
graph = helper.make_graph([helper.make_node("Mish", ["x"], ["y"])], "g", f[:1], f[1:])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
compiled = glow.compile(model, cache=False)
(y,) = compiled(x)
assert np.allclose(y, x * np.tanh(np.log1p(np.exp(x))), atol=1e-6)
from glow.frontend.onnx import import_onnx
from glow.frontend.onnx.export import export_onnx
assert "glow.mish" in str(import_onnx(model))
assert "Mish" in [n.op_type for n in export_onnx(import_onnx(model)).graph.node]
""",
    "structured": """
import glow, numpy as np, onnx, sys
from onnx import TensorProto, helper
x = np.random.default_rng(int(sys.argv[1])).random((5, 7, 3), np.float32)
f = [helper.make_tensor_value_info(n, TensorProto.FLOAT, x.shape) for n in "xy"]
nodes = [helper.make_node("MeanVarianceNormalization", ["x"], ["g"], axes=[0, 2])]
nodes += [helper.make_node("Relu", ["g"], ["y"])]
graph = helper.make_graph(nodes, "g", f[:1], f[1:])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
wanted = (x - x.mean((0, 2), keepdims=True)) / x.std((0, 2), keepdims=True)
for backend in ("cpu", "interpreter"):
    (y,) = glow.compile(model, backend, cache=False)(x)
    assert np.allclose(y, np.maximum(wanted, 0), atol=1e-5)
assert "epilogue" in str(glow.compile(model, cache=False).stages["allocated"])
from glow.frontend.onnx import import_onnx
from glow.frontend.onnx.export import export_onnx
from glow.glow_dialects.work import work_of
module = import_onnx(model)
assert "MeanVarianceNormalization" in [n.op_type for n in export_onnx(module).graph.node]
(node,) = [op for op in module.walk() if op.name == "glow.standardize"]
assert work_of(node.call).bytes == 2 * 105 * 4
""",
    "rewrite": """
from glow.context import make_context
from xdsl.parser import Parser
from xdsl.transforms.canonicalize import CanonicalizePass
text = '''
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = glow.floor %x : (tensor<4xf32>) -> tensor<4xf32>
  %b = glow.ceil %a : (tensor<4xf32>) -> tensor<4xf32>
  func.return %b : tensor<4xf32>
}
'''
context = make_context()
module = Parser(context, text).parse_module()
CanonicalizePass().apply(context, module)
assert "glow.floor" in str(module) and "glow.ceil" not in str(module), module
""",
    "schedule": """
import glow
from glow.context import make_context
from xdsl.parser import Parser
text = '''
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = glow.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  func.return %a : tensor<4xf32>
}
'''
module = Parser(make_context(), text).parse_module()
kernels = str(glow.compile(module, cache=False).stages["kernels"])
assert "vector<" not in kernels, kernels
longer = Parser(make_context(), text.replace("4xf32", "64xf32")).parse_module()
assert "vector<" in str(glow.compile(longer, cache=False).stages["kernels"])
""",
}


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a copy of the package that Python imports before any other."""
    folder = tmp_path_factory.mktemp("extended")
    hidden = shutil.ignore_patterns("__pycache__")
    for name in FOLDERS:
        shutil.copytree(ROOT / name, folder / "glow" / name, ignore=hidden)
    for file in ROOT.glob("*.py"):
        shutil.copy(file, folder / "glow")
    return folder


def patched(package: Path, diff: Path, *options: str) -> None:
    command = ["patch", "--silent", "-p1", "-d", package / "glow", "-i", diff, *options]
    found = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert found.returncode == 0, f"docs/examples/extending: {found.stdout}{found.stderr}"


def test_every_change_is_checked():
    assert {d.stem for d in DIFFS.glob("*.diff")} == set(CHECKS)


@pytest.mark.parametrize("name", CHECKS)
def test_changes_do_what_the_document_says(name: str, package: Path, rng: np.random.Generator):
    diff = DIFFS / f"{name}.diff"
    patched(package, diff)
    try:
        command = [sys.executable, "-c", CHECKS[name], str(rng.integers(2**32))]
        found = subprocess.run(
            command, cwd=package, env={"PYTHONPATH": str(package), "PATH": "/usr/bin:/bin"},
            capture_output=True, text=True, timeout=300,
        )  # fmt: skip
        assert found.returncode == 0, found.stderr
    finally:
        patched(package, diff, "--reverse")
