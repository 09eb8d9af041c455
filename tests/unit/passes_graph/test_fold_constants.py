"""Constant folding: what is evaluated, what stays by reference, and what is too large."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from glow.errors import CompileError
from glow.glow_dialects.blob import BlobAttr
from glow.glow_dialects.glow.constant import ConstantOp
from glow.passes.graph.fold_constants import is_uniform
from glow.runtime.interpreter import interpret
from glow.tests.support.graph_text import count, parse, run
from glow.tests.support.seeds import numbered


def constants(module) -> list[ConstantOp]:
    return [op for op in module.walk() if isinstance(op, ConstantOp)]


@pytest.fixture
def weights(tmp_path: Path) -> tuple[str, np.ndarray]:
    array = numbered(11).standard_normal((6, 5)).astype(np.float32)
    path = tmp_path / "weights.bin"
    path.write_bytes(b"\0" * 64 + array.tobytes())
    return str(path), array


def test_a_contiguous_slice_refers_to_the_same_file(weights):
    path, array = weights
    module = parse(f"""
    func.func @main() -> (tensor<2x5xf32> {{glow.name = "y"}}) {{
      %w = glow.constant #glow.blob<"{path}", 64, 120> : tensor<6x5xf32>
      %s = glow.slice %w starts [3, 0] sizes [2, 5] : (tensor<6x5xf32>) -> tensor<2x5xf32>
      func.return %s : tensor<2x5xf32>
    }}""")
    (constant,) = constants(run("glow-fold-constants", module))
    assert isinstance(constant.value, BlobAttr)
    blob = constant.value.data
    assert (blob.path, blob.offset, blob.size) == (path, 64 + 3 * 20, 40)
    np.testing.assert_array_equal(interpret(module, [])["y"], array[3:5])


@pytest.mark.parametrize(
    ("starts", "sizes", "strides"), [("0, 1", "6, 3", "1, 1"), ("5, 0", "6, 5", "-1, 1")]
)
def test_other_slices_are_computed(weights, starts: str, sizes: str, strides: str):
    path, _ = weights
    shape = sizes.replace(", ", "x")
    module = parse(f"""
    func.func @main() -> (tensor<{shape}xf32> {{glow.name = "y"}}) {{
      %w = glow.constant #glow.blob<"{path}", 64, 120> : tensor<6x5xf32>
      %s = glow.slice %w starts [{starts}] sizes [{sizes}] strides [{strides}]
         : (tensor<6x5xf32>) -> tensor<{shape}xf32>
      func.return %s : tensor<{shape}xf32>
    }}""")
    want = interpret(module, [])["y"]
    (constant,) = constants(run("glow-fold-constants", module))
    assert isinstance(constant.value, BlobAttr)
    assert constant.value.data.path.startswith("memory:")
    np.testing.assert_array_equal(interpret(module, [])["y"], want)


OUTER = """
func.func @main() -> tensor<40x40xf32> {
  %a = glow.constant #glow.blob<"PATH", 64, 120> : tensor<6x5xf32>
  %b = glow.reshape %a : (tensor<6x5xf32>) -> tensor<30xf32>
  %c = glow.slice %b sizes [20]
     : (tensor<30xf32>) -> tensor<20xf32>
  %d = glow.concat %c, %c axis 0 : (tensor<20xf32>, tensor<20xf32>) -> tensor<40xf32>
  %r = glow.reshape %d : (tensor<40xf32>) -> tensor<40x1xf32>
  %x = glow.broadcast %d : (tensor<40xf32>) -> tensor<40x40xf32>
  %y = glow.broadcast %r : (tensor<40x1xf32>) -> tensor<40x40xf32>
  %z = glow.add %x, %y : (tensor<40x40xf32>, tensor<40x40xf32>) -> tensor<40x40xf32>
  func.return %z : tensor<40x40xf32>
}"""


@pytest.mark.parametrize(("limit", "sums"), [(1600, 0), (1599, 1)])
def test_a_result_grows_up_to_the_limit(weights, limit: int, sums: int):
    module = parse(OUTER.replace("PATH", weights[0]))
    run(f"glow-fold-constants{{max-elements={limit}}}", module)
    assert count(module)["glow.add"] == sums
    assert count(module)["glow.broadcast"] == 2 * sums
    assert count(module)["glow.concat"] == 0


TABLE = """
func.func @main(%x: tensor<7x40x40xf32>) -> (tensor<7x40x40xf32> {glow.name = "y"}) {
  %w = glow.constant #glow.blob<"PATH", 64, 120> : tensor<30xf32>
  %c = glow.concat %w, %w axis 0 : (tensor<30xf32>, tensor<30xf32>) -> tensor<60xf32>
  %v = glow.slice %c starts [0] sizes [40] : (tensor<60xf32>) -> tensor<40xf32>
  %column = glow.reshape %v : (tensor<40xf32>) -> tensor<40x1xf32>
  %a = glow.broadcast %v : (tensor<40xf32>) -> tensor<40x40xf32>
  %b = glow.broadcast %column : (tensor<40x1xf32>) -> tensor<40x40xf32>
  %sum = glow.add %a, %b : (tensor<40x40xf32>, tensor<40x40xf32>) -> tensor<40x40xf32>
  %scaled = glow.mul %sum, %sum : (tensor<40x40xf32>, tensor<40x40xf32>) -> tensor<40x40xf32>
  %wave = glow.OPERATOR %scaled : (tensor<40x40xf32>) -> tensor<40x40xf32>
  %table = glow.sub %wave, %sum : (tensor<40x40xf32>, tensor<40x40xf32>) -> tensor<40x40xf32>
  %all = glow.broadcast %table : (tensor<40x40xf32>) -> tensor<7x40x40xf32>
  %y = glow.mul %x, %all : (tensor<7x40x40xf32>, tensor<7x40x40xf32>) -> tensor<7x40x40xf32>
  func.return %y : tensor<7x40x40xf32>
}"""


@pytest.mark.parametrize(("operator", "folds"), [("sin", True), ("neg", False)])
def test_what_is_quicker_to_read_than_to_compute_is_a_constant(
    weights, operator: str, folds: bool, rng: np.random.Generator
):
    module = parse(TABLE.replace("PATH", weights[0]).replace("OPERATOR", operator))
    x = rng.standard_normal((7, 40, 40)).astype(np.float32)
    wanted = interpret(module, [x])["y"]
    run("glow-fold-constants{max-elements=99}", module)
    found = count(module)
    assert (found[f"glow.{operator}"] == 0) == folds
    assert found["glow.sub"] == found["glow.add"] == (0 if folds else 1)
    # the broadcast of the table and the product with the input stay
    assert found["glow.broadcast"] == (1 if folds else 3)
    assert found["glow.mul"] == (1 if folds else 2)
    np.testing.assert_array_equal(interpret(module, [x])["y"], wanted)


def test_a_large_result_without_growth_is_computed(weights):
    module = parse(f"""
    func.func @main() -> tensor<5x6xf32> {{
      %w = glow.constant #glow.blob<"{weights[0]}", 64, 120> : tensor<6x5xf32>
      %t = glow.transpose %w permutation [1, 0]
         : (tensor<6x5xf32>) -> tensor<5x6xf32>
      func.return %t : tensor<5x6xf32>
    }}""")
    assert count(run("glow-fold-constants{max-elements=1}", module))["glow.transpose"] == 0


def test_unsigned_numbers_beyond_i64_survive():
    module = parse("""
    func.func @main() -> (tensor<3xui64> {glow.name = "y"}) {
      %a = glow.splat value 9223372036854775807 : tensor<3xui64>
      %b = glow.add %a, %a : (tensor<3xui64>, tensor<3xui64>) -> tensor<3xui64>
      func.return %b : tensor<3xui64>
    }""")
    run("glow-fold-constants", module)
    assert interpret(module, [])["y"].tolist() == [2**64 - 2] * 3


def test_nan_and_infinity_survive_text():
    module = parse("""
    func.func @main() -> (tensor<2xf32> {glow.name = "y"}, tensor<2xf32> {glow.name = "z"}) {
      %a = glow.splat value 0.0 : tensor<2xf32>
      %b = glow.div %a, %a : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      %c = glow.log %a : (tensor<2xf32>) -> tensor<2xf32>
      func.return %b, %c : tensor<2xf32>, tensor<2xf32>
    }""")
    again = parse(str(run("glow-fold-constants", module)))
    results = interpret(again, [])
    assert np.isnan(results["y"]).all()
    assert (results["z"] == -np.inf).all()


def test_missing_bytes_are_reported_with_the_node(tmp_path: Path):
    module = parse(OUTER.replace("PATH", str(tmp_path / "absent")))
    with pytest.raises(CompileError, match=r"glow\.slice.*cannot read a constant.*absent"):
        run("glow-fold-constants", module)


def test_uniform_means_the_same_bits():
    assert is_uniform(np.full((3, 2), 1.5))
    assert is_uniform(np.array([np.nan, np.nan]))
    assert is_uniform(np.broadcast_to(np.float32(2), (5, 5)))
    assert not is_uniform(np.array([0.0, -0.0]))
    assert not is_uniform(np.array([1, 2, 1]))
    assert not is_uniform(np.zeros((0, 3)))


def test_large_results_are_computed_when_their_bytes_are_needed(
    tmp_path: Path, rng: np.random.Generator
):
    array = rng.standard_normal((300, 301)).astype(np.float32)
    path = tmp_path / "weights.bin"
    path.write_bytes(array.tobytes())
    module = parse(f"""
    func.func @main() -> (tensor<301x300xf32> {{glow.name = "y"}}) {{
      %w = glow.constant #glow.blob<"{path}", 0, {array.nbytes}> : tensor<300x301xf32>
      %t = glow.transpose %w permutation [1, 0]
         : (tensor<300x301xf32>) -> tensor<301x300xf32>
      %y = glow.add %t, %t : (tensor<301x300xf32>, tensor<301x300xf32>) -> tensor<301x300xf32>
      func.return %y : tensor<301x300xf32>
    }}""")
    (constant,) = constants(run("glow-fold-constants", module))
    assert isinstance(constant.value, BlobAttr)
    assert constant.value.data.is_computed
    np.testing.assert_array_equal(interpret(module, [])["y"], array.T * 2)
