"""The trainer: steps, checkpoints, data, and what it says about bad input."""

from __future__ import annotations

import re
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import glow
import numpy as np
import onnxruntime
import pytest
from glow import nn
from glow.errors import GlowError, InputError
from glow.glow_dialects.glow.arithmetic import MaximumOp
from glow.training import SGD, Adam, AdamW, Batches, EarlyStopping, Optimizer, cosine, linear

DIGITS = Path(__file__).parents[3] / "examples" / "digits" / "digits.onnx"


def _regression(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    x = rng.standard_normal((24, 3)).astype(np.float32)
    return x, (x @ rng.standard_normal((3, 2)) + 0.1).astype(np.float32)


def _trainer(optimizer: Optimizer, network: nn.Module | None = None, **options) -> glow.Trainer:
    network = network or nn.Sequential(nn.Linear(3, 2))
    return glow.Trainer(
        network, nn.mean_squared_error, optimizer, **{"backend": "interpreter", **options}
    )


def _gradients(
    w: np.ndarray, b: np.ndarray, x: np.ndarray, y: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    d = 2 * (x @ w.T + b - y) / y.size
    return d.T @ x, d.sum(0)


class _Reference:
    """The update rules of the papers in f64."""

    def __init__(self, optimizer: Optimizer):
        self.optimizer = optimizer
        self.kept: dict[int, np.ndarray] = {}

    def step(self, t: int, values: list[np.ndarray], gradients: list[np.ndarray]) -> None:
        norm = np.sqrt(sum((g**2).sum() for g in gradients))
        most = self.optimizer.clip_norm
        for i, (p, g) in enumerate(zip(values, gradients, strict=True)):
            g = g if most is None or norm <= most else g * most / norm
            p += self.change(i, t, p, g)

    def change(self, i: int, t: int, p: np.ndarray, g: np.ndarray) -> np.ndarray:
        match self.optimizer:
            case SGD() as o:
                g = g + o.weight_decay * p
                v = self.kept[i] = o.momentum * self.kept.get(i, 0) + g
                return -o.schedule(t) * (g + o.momentum * v if o.nesterov else v)
            case Adam() as o:
                decoupled = isinstance(o, AdamW)
                g = g if decoupled else g + o.weight_decay * p
                (a, b), rate = o.betas, o.schedule(t)
                m = self.kept[2 * i] = a * self.kept.get(2 * i, 0) + (1 - a) * g
                v = self.kept[2 * i + 1] = b * self.kept.get(2 * i + 1, 0) + (1 - b) * g * g
                step = m / (1 - a**t) / (np.sqrt(v / (1 - b**t)) + o.epsilon)
                return -rate * (step + (o.weight_decay * p if decoupled else 0))
            case _:
                raise AssertionError


@pytest.mark.parametrize(
    "optimizer",
    [
        SGD(0.1),
        SGD(linear(0.2, 7, warmup=2), momentum=0.9, weight_decay=0.1, clip_norm=0.5),
        SGD(0.1, momentum=0.5, nesterov=True),
        Adam(cosine(0.1, 9), weight_decay=0.01),
        AdamW(0.1, betas=(0.8, 0.95), weight_decay=0.1, clip_norm=100.0),
    ],
    ids=lambda o: type(o).__name__,
)
def test_steps_are_those_of_the_papers(optimizer: Optimizer, rng) -> None:
    x, y = _regression(rng)
    trainer, reference = _trainer(optimizer), _Reference(optimizer)
    w, b = (p.astype(np.float64) for p in trainer.parameters.values())
    for t in range(1, 8):
        (loss,) = trainer.train_step([(x, y)])
        assert loss == pytest.approx(((x @ w.T + b - y) ** 2).mean(), rel=1e-4)
        reference.step(t, [w, b], list(_gradients(w, b, x, y)))
    for found, expected in zip(trainer.parameters.values(), (w, b), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_accumulated_batches_are_one_larger_batch(rng) -> None:
    x, y = _regression(rng)
    parts = [(x[i : i + 8], y[i : i + 8]) for i in (0, 8, 16)]
    one, three = (_trainer(Adam(0.1, clip_norm=0.7)) for _ in range(2))
    for _ in range(3):
        one.train_step([(x, y)])
        three.train_step(parts)
    assert three.step == 3
    for name, array in one.parameters.items():
        np.testing.assert_allclose(three.parameters[name], array, rtol=1e-4, atol=1e-6)


def _noisy() -> nn.Sequential:
    """Returns a network with all that a checkpoint has to keep."""
    net = nn.Sequential(nn.Linear(3, 5), nn.BatchNorm(5), nn.Dropout(0.3), nn.tanh, nn.Linear(5, 2))
    net.initialize(3)
    return net


def test_a_resumed_training_is_equal_to_the_bit(tmp_path: Path, rng) -> None:
    x, y = _regression(rng)
    options = {"backend": "cpu", "threads": 1, "seed": 5}
    data = Batches(x, y, 8, transform=lambda g, a: a + g.normal(0, 0.1, a.shape).astype(a.dtype))
    whole = _trainer(Adam(0.05), _noisy(), **options)
    whole.fit(data, 4)
    first = _trainer(Adam(0.05), _noisy(), **options)
    first.fit(data, 1, checkpoint=tmp_path / "c")
    first.train_step([next(iter(data.epoch(1)))])  # what comes after the checkpoint is forgotten
    second = _trainer(Adam(0.05), _noisy(), **options)
    second.restore(tmp_path / "c")
    assert (second.epoch, second.step) == (1, 3)
    reports = second.fit(data, 4)
    assert [r.epoch for r in reports] == [2, 3, 4]
    for name, array in whole.parameters.items():
        np.testing.assert_array_equal(second.parameters[name], array, err_msg=name)
    assert not np.array_equal(whole.parameters["1.running_mean"], np.zeros(5))


def test_a_training_resumes_in_the_middle_of_an_epoch(tmp_path: Path, rng) -> None:
    data = Batches(*_regression(rng), 8)
    whole, part = (_trainer(SGD(0.1, momentum=0.9)) for _ in range(2))
    whole.fit(data, 2)

    def interrupted() -> Iterator:
        batches = data.epoch(0)
        yield next(batches)
        part.save(tmp_path / "c")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        part.fit(interrupted(), 1)
    resumed = _trainer(SGD(0.1, momentum=0.9))
    resumed.restore(tmp_path / "c")
    assert resumed.step == 1
    resumed.fit(data, 2)
    for name, array in whole.parameters.items():
        np.testing.assert_array_equal(resumed.parameters[name], array)


@contextmanager
def _files_of_at_most(size: int) -> Iterator[None]:
    """Limits what a file may have, as a full disk does."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_leaves_the_last_checkpoint(tmp_path: Path, rng) -> None:
    trainer = _trainer(SGD(0.1))
    trainer.save(tmp_path / "c")
    before = (tmp_path / "c").read_bytes()
    trainer.train_step([_regression(rng)])
    with _files_of_at_most(100), pytest.raises(GlowError, match=r"cannot write the checkpoint .*c"):
        trainer.save(tmp_path / "c")
    assert (tmp_path / "c").read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["c"]


def test_checkpoints_of_others(tmp_path: Path) -> None:
    path = tmp_path / "c"
    _trainer(SGD(0.1, momentum=0.9), nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))).save(path)
    message = r"another network or optimizer:\n  0.bias: expected float32\[2\], found float32\[4\]"
    with pytest.raises(GlowError, match=message):
        _trainer(SGD(0.1)).restore(path)
    path.write_bytes(b"no checkpoint")
    with pytest.raises(GlowError, match="cannot be read as a checkpoint"):
        _trainer(SGD(0.1)).restore(path)
    with pytest.raises(GlowError, match="cannot be read as a checkpoint"):
        _trainer(SGD(0.1)).restore(tmp_path / "none")


def test_a_loss_that_is_not_finite_names_step_and_node(rng) -> None:
    x, y = _regression(rng)

    def loss(output: nn.Tensor, target: nn.Tensor) -> nn.Tensor:
        return ((output - target) ** 0.5).mean()

    trainer = glow.Trainer(nn.Sequential(nn.Linear(3, 2)), loss, SGD(0.1), backend="interpreter")
    before = trainer.parameters
    message = (
        "the loss is nan in step 1, batch 1 of epoch 1: the result tensor<24x2xf32> of glow.pow"
    )
    with pytest.raises(GlowError, match=re.escape(message)):
        trainer.fit([(x, y)], 1)
    for name, array in before.items():
        np.testing.assert_array_equal(trainer.parameters[name], array)
    x[2, 1] = np.nan
    with pytest.raises(GlowError, match="the input %input has a NaN"):
        _trainer(SGD(0.1)).train_step([(x, y)])


def test_a_nan_of_compiled_code_alone(rng, monkeypatch: pytest.MonkeyPatch) -> None:
    x, y = _regression(rng)

    def loss(output: nn.Tensor, target: nn.Tensor) -> nn.Tensor:
        return ((output - target) ** 0.5).mean()

    # as if all were finite in the interpreter
    monkeypatch.setattr("glow.training.nonfinite.interpret", lambda *_: None)
    trainer = glow.Trainer(nn.Sequential(nn.Linear(3, 2)), loss, SGD(0.1))
    with pytest.raises(GlowError, match=r"of glow\.pow .* has a NaN in compiled code, and all is"):
        trainer.fit([(x, y)], 1)


def test_a_parameter_without_influence_has_a_warning_and_no_gradient(rng) -> None:
    class Idle(nn.Module):
        def __init__(self):
            self.used, self.idle = nn.Linear(3, 2), nn.Linear(3, 2)

        def __call__(self, x: nn.Tensor) -> nn.Tensor:
            return self.used(x)

    trainer = _trainer(Adam(0.1), Idle())
    before = trainer.parameters
    with pytest.warns(UserWarning, match=r"does not depend on idle\.weight, idle\.bias"):
        trainer.train_step([_regression(rng)])
    changed = {n for n, a in before.items() if not np.array_equal(a, trainer.parameters[n])}
    assert changed == {"used.weight", "used.bias"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"freeze": ["1.*"]}, "no parameter that can be trained matches '1.*'; there are 0.bias"),
        ({"freeze": ["*"]}, "the model has no parameters to train"),
        ({"seed": -1}, "a seed that is an integer of 0 to 2**64 - 1, found -1"),
        ({"seed": 1.5}, "a seed that is an integer of 0 to 2**64 - 1, found 1.5"),
    ],
)
def test_bad_trainers(options: dict, message: str) -> None:
    with pytest.raises(GlowError, match=re.escape(message)):
        _trainer(SGD(0.1), **options)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "expected at least 1 batches in epoch 1, found 0"),
        ([np.ones((4, 3), np.float32)], "pairs of inputs and targets, found ndarray"),
        ([(np.ones((4, 3), np.float32),)], "pairs of inputs and targets, found 1 parts"),
        ([([[1.0, 2.0, 3.0]], [[1.0, 2.0]])], "an array of numpy, or several, found list"),
        ([(np.ones((0, 3), np.float32), np.ones((0, 2), np.float32))], "one without"),
        ([(np.ones((4, 3), np.float32), None)], "an array of numpy, or several, found NoneType"),
        (5, "expected a data set that gives batches, found int"),
    ],
)
def test_data_that_are_no_batches(data, message: str) -> None:
    with pytest.raises(GlowError, match=re.escape(message)):
        _trainer(SGD(0.1)).fit(data, 1)


def test_a_data_set_that_gives_its_batches_once(rng) -> None:
    batches = iter([_regression(rng)] * 3)
    with pytest.raises(GlowError, match="at least 2 batches in epoch 2, found 0"):
        _trainer(SGD(0.1)).fit((b for b in [*batches][:2]), 2, accumulate=2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"metrics": {"m": nn.mean_squared_error}}, "expected validation data for metrics"),
        ({"accumulate": 0}, "at least 1 batch for a step, found 0"),
        ({"validation": []}, "data of at least 1 batch to evaluate, found none"),
    ],
)
def test_bad_arguments_of_fit(arguments: dict, message: str, rng) -> None:
    with pytest.raises(GlowError, match=message):
        _trainer(SGD(0.1)).fit([_regression(rng)], 1, **arguments)


def test_a_metric_that_is_called_loss(rng) -> None:
    with pytest.raises(GlowError, match="another name of a metric than 'loss'"):
        _trainer(SGD(0.1)).evaluate([_regression(rng)], {"loss": nn.mean_squared_error})


def test_what_is_no_loss_and_no_optimizer() -> None:
    network = nn.Sequential(nn.Linear(3, 2))
    with pytest.raises(GlowError, match="a loss that is a function of tensors, found 'mse'"):
        glow.Trainer(network, "mse", SGD(0.1))  # pyright: ignore
    with pytest.raises(GlowError, match=r"expected an optimizer, such as .*, found 'adam'"):
        glow.Trainer(network, nn.mean_squared_error, "adam")  # pyright: ignore
    with pytest.raises(GlowError, match="a learning rate that is a number or a schedule"):
        SGD("0.1")  # pyright: ignore


@pytest.mark.parametrize("label", [-1, 2])
def test_a_label_of_no_class(label: int, rng) -> None:
    x, labels = _regression(rng)[0], np.zeros(24, np.int64)
    network = nn.Sequential(nn.Linear(3, 2))
    trainer = glow.Trainer(network, nn.cross_entropy, SGD(0.1), backend="interpreter")
    trainer.train_step([(x, labels + 1)])
    labels[5] = label
    with pytest.raises(GlowError, match=r"the loss is nan in step 2, .* %is_no_class of"):
        trainer.train_step([(x, labels)])


def test_a_checkpoint_does_not_replace_what_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(GlowError, match="it is there, and is no regular file; last good one: none"):
        _trainer(SGD(0.1)).save(tmp_path / "folder")


def test_a_loss_of_several_elements(rng) -> None:
    trainer = glow.Trainer(
        nn.Sequential(nn.Linear(3, 2)), lambda a, b: a - b, SGD(0.1), backend="interpreter"
    )
    with pytest.raises(GlowError, match=r"metric of one float, found <Tensor float32\[24"):
        trainer.train_step([_regression(rng)])


def test_a_model_is_tuned_with_frozen_parameters(tmp_path: Path, rng) -> None:
    """
    The last layer of an ONNX model with a batch of 1 learns, the others stay; onnxruntime computes
    what glow computes of the export.
    """
    x = rng.uniform(0, 1, (1, 1, 8, 8)).astype(np.float32)
    target = np.eye(10, dtype=np.float32)[None, 3]
    trainer = glow.Trainer(DIGITS, nn.mean_squared_error, SGD(0.01), freeze=["conv*"])
    assert trainer.trained == ["fc.w", "fc.b"]
    before = trainer.parameters
    losses = [trainer.train_step([(x, target)])[0] for _ in range(5)]
    assert losses == sorted(losses, reverse=True)
    same = {n for n, a in before.items() if np.array_equal(a, trainer.parameters[n])}
    assert same == {n for n in before if n.startswith("conv")}
    trainer.export(tmp_path / "tuned.onnx", {"image": x})
    session = onnxruntime.InferenceSession(tmp_path / "tuned.onnx")
    (expected,) = session.run(None, {"image": x})
    (found,) = glow.compile(tmp_path / "tuned.onnx")(x)
    assert isinstance(expected, np.ndarray)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)
    assert trainer.evaluate([(x, target)])["loss"] == pytest.approx(
        ((found - target) ** 2).mean(), rel=1e-4
    )


def test_early_stopping_and_reports(rng) -> None:
    x, y = _regression(rng)
    trainer = _trainer(SGD(0.0))
    seen: list[int] = []
    reports = trainer.fit(
        *(Batches(x, y, 7, partial=True), 9),
        validation=[(x, y)],
        metrics={"largest": lambda output, target: nn.elementwise(MaximumOp, target, 5.0).mean()},
        callbacks=[EarlyStopping(2), lambda trainer, report: seen.append(report.epoch)],
    )
    assert seen == [1, 2, 3]
    assert [r.step for r in reports] == [4, 8, 12]
    found = reports[0].validation
    assert found["largest"] == pytest.approx(np.maximum(y, 5).mean())
    assert found["loss"] == pytest.approx(reports[2].validation["loss"], abs=0)
    with pytest.raises(GlowError, match="no value is called 'accuracy'; there are loss"):
        EarlyStopping(1, "accuracy")(
            trainer, reports[0].__class__(1, 1, 0.0, 0.0, 0.0, {"loss": 1})
        )


def test_the_order_of_batches_repeats(rng) -> None:
    x = np.arange(10)
    data = Batches(x, x, 4, seed=3)
    first, second = ([np.array(b[0]).tolist() for b in data.epoch(n)] for n in (0, 1))
    assert first == [np.array(b[0]).tolist() for b in data.epoch(0)]
    assert first != second
    assert len(data) == len(first) == 2
    assert len({i for b in first for i in b}) == 8
    with pytest.raises(InputError, match="as many targets as inputs, found 9 and 10"):
        Batches(x, x[:9])
    with pytest.raises(InputError, match="batches of 1 to 10 examples, found 11"):
        Batches(x, x, 11)
