"""Training of imported models that take rows of tables: indices in inputs, and computed ones."""

from __future__ import annotations

from pathlib import Path

import glow
import numpy as np
import onnx
import pytest
from glow import nn
from glow.errors import IndexRangeError, InputError
from glow.training import SGD
from onnx import ModelProto, numpy_helper, parser

ROWS = 7
GIVEN = "y = Gather<axis=0>(w, x)"
COMPUTED = "one = Constant<value = int64 {1}>() i = Sub(x, one) y = Gather<axis=0>(w, i)"


def model(nodes: str, w: np.ndarray) -> ModelProto:
    """Returns a model of rows of a table."""
    found = parser.parse_model(f"""<ir_version: 8, opset_import: ["" : 17]>
        g (int64[3,5] x) => (float[3,5,4] y) {{ {nodes} }}""")
    found.graph.initializer.append(numpy_helper.from_array(w, "w"))
    return found


@pytest.mark.parametrize("threads", [1, 2])
def test_computed_indices(threads: int, tmp_path: Path, rng: np.random.Generator) -> None:
    """The loss takes the outputs of the model alone, and so does what is exported."""
    w = rng.standard_normal((ROWS, 4)).astype(np.float32)
    indices = rng.integers(-ROWS, ROWS, (3, 5))
    target = rng.standard_normal((3, 5, 4)).astype(np.float32)
    trainer = glow.Trainer(model(COMPUTED, w), nn.mean_squared_error, SGD(0.3), threads=threads)
    trainer.train_step([(indices + 1, target)])
    gradient = np.zeros_like(w)
    np.add.at(gradient, indices, 2 * (w[indices] - target) / target.size)
    expected = w - 0.3 * gradient
    np.testing.assert_allclose(trainer.parameters["w"], expected, rtol=1e-5, atol=1e-6)
    assert np.isfinite(trainer.evaluate([(indices + 1, target)])["loss"])
    trainer.export(tmp_path / "model.onnx", {"x": indices}, then=lambda y: y * 2)
    exported = onnx.load(tmp_path / "model.onnx")
    assert len(exported.graph.output) == 1
    for trained in (exported, trainer.graph({"x": indices}, then=lambda y: y * 2)):
        (found,) = glow.compile(trained)(indices + 1)
        np.testing.assert_allclose(found, 2 * expected[indices], rtol=1e-5, atol=1e-6)
    checked = glow.compile(trainer.graph({"x": indices}), "interpreter")
    with pytest.raises(IndexRangeError):
        checked(np.full((3, 5), ROWS + 1))


@pytest.mark.parametrize("backend", ["interpreter", "cpu"])
@pytest.mark.parametrize("place", [ROWS, -ROWS - 1])
@pytest.mark.parametrize(("nodes", "error"), [(GIVEN, InputError), (COMPUTED, IndexRangeError)])
def test_an_index_out_of_range(
    nodes: str, error: type[Exception], place: int, backend: str, rng: np.random.Generator
) -> None:
    """It is an error that names the node, and the state is that before the step."""
    w = rng.standard_normal((ROWS, 4)).astype(np.float32)
    target = rng.standard_normal((3, 5, 4)).astype(np.float32)
    first = int(nodes == COMPUTED)
    indices = rng.integers(-ROWS, ROWS, (3, 5)) + first
    wrong = indices.copy()
    wrong[1, 2] = place + first
    optimizer = SGD(0.3, momentum=0.9)
    trainer = glow.Trainer(model(nodes, w), nn.mean_squared_error, optimizer, backend=backend)
    trainer.train_step([(indices, target)])
    before = trainer.parameters["w"]
    for batches in ([wrong], [indices, wrong]):
        with pytest.raises(error, match=rf"Gather.*expected indices in -7 to 6, found {place}"):
            trainer.train_step([(x, target) for x in batches])
        assert trainer.step == 1
        np.testing.assert_array_equal(trainer.parameters["w"], before)
    trainer.train_step([(indices, target)])
    again = glow.Trainer(model(nodes, w), nn.mean_squared_error, optimizer, backend=backend)
    for _ in range(2):
        again.train_step([(indices, target)])
    np.testing.assert_array_equal(trainer.parameters["w"], again.parameters["w"])


@pytest.mark.parametrize("backend", ["interpreter", "cpu"])
@pytest.mark.parametrize("place", [ROWS, -ROWS - 1])
def test_an_index_out_of_a_built_table(place: int, backend: str, rng: np.random.Generator) -> None:
    """Two tables take the input; the smaller one decides."""
    network = Tables()
    trainer = glow.Trainer(network, nn.mean_squared_error, SGD(0.3), backend=backend)
    indices = rng.integers(-ROWS, ROWS, (3, 5))
    target = rng.standard_normal((3, 5, 4)).astype(np.float32)
    trainer.train_step([(indices, target)])
    before = {name: array.copy() for name, array in trainer.parameters.items()}
    wrong = indices.copy()
    wrong[2, 3] = place
    message = f"expected indices in -{ROWS} to {ROWS - 1}, found {place}"
    with pytest.raises(InputError, match=message):
        trainer.train_step([(wrong, target)])
    for name, array in trainer.parameters.items():
        np.testing.assert_array_equal(array, before[name])
    model = glow.compile(trainer.graph({"input": indices}), backend)
    assert model(indices)[0].shape == (3, 5, 4)
    with pytest.raises(InputError, match=message):
        model(wrong)


class Tables(nn.Module):
    """The sum of the rows of two tables."""

    def __init__(self):
        self.large, self.small = nn.Embedding(2 * ROWS, 4), nn.Embedding(ROWS, 4)

    def __call__(self, indices: nn.Tensor) -> nn.Tensor:
        return self.large(indices) + self.small(indices)
