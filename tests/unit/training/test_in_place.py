"""A step changes its state in place, and an error or an interrupt leaves a state that is whole."""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping
from typing import Any

import glow
import numpy as np
import pytest
from glow import nn
from glow.benchmarks import training_networks
from glow.errors import GlowError
from glow.glow_dialects.glow_inst.instruction import Instruction, buffer_of
from glow.glow_dialects.glow_inst.memory import STATE, argument_attributes
from glow.glow_dialects.glow_inst.stacked import CopyOp
from glow.passes.instructions.program import programs
from glow.training import SGD, Adam, AdamW, Batches, Optimizer
from glow.training.execution import Execution
from xdsl.dialects.builtin import ModuleOp

NETWORKS: Mapping[str, tuple[Callable[[], nn.Module], tuple[int, ...], int]] = {
    "digits": (training_networks.DigitsCnn, (8, 1, 8, 8), 10),
    "resnet": (lambda: training_networks.ResNet((4, 6), 5), (4, 3, 9, 7), 5),
    "encoder": (lambda: training_networks.Encoder(11, 8, 2, 2, 3), (4, 7), 3),
    "lstm": (lambda: training_networks.Tagger("LSTM", 11, 6, 2, 3, True), (3, 7), 3),
}


def _trainer(name: str, optimizer: Optimizer) -> glow.Trainer:
    network = NETWORKS[name][0]()
    network.initialize(3)
    return glow.Trainer(network, nn.cross_entropy, optimizer)


def _batch(name: str, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    _, shape, classes = NETWORKS[name]
    is_image = len(shape) == 4
    x = rng.standard_normal(shape).astype(np.float32) if is_image else rng.integers(0, 11, shape)
    return x, rng.integers(0, classes, len(x))


def _state_writers(module: ModuleOp) -> dict[str, list[Instruction]]:
    """Returns the instructions that write each state of a program."""
    found: dict[str, list[Instruction]] = {}
    for program in programs(module):
        instructions = [op for op in program.body.block.ops if isinstance(op, Instruction)]
        for argument in program.body.block.args:
            if STATE in argument_attributes(argument):
                written = [
                    op for op in instructions if any(buffer_of(v) is argument for v in op.written())
                ]
                found[argument.name_hint or ""] = written
    return found


@pytest.mark.parametrize(
    ("name", "optimizer"),
    [
        ("digits", SGD(0.1)),
        ("digits", AdamW(0.1)),
        ("resnet", SGD(0.1, 0.9, nesterov=True)),
        ("encoder", AdamW(0.1)),
        ("lstm", SGD(0.1, 0.9, nesterov=True)),
    ],
    ids=["digits-sgd", "digits-adamw", "resnet-nesterov", "encoder-adamw", "lstm-nesterov"],
)
def test_a_step_has_no_second_copy_of_its_state(
    name: str, optimizer: Optimizer, rng: np.random.Generator
) -> None:
    """One instruction writes each state, where it reads the old value; nothing is copied."""
    trainer = _trainer(name, optimizer)
    trainer.train_step([_batch(name, rng)])
    ((_, model),) = trainer._execution._programs.values()
    writers = _state_writers(model.stages["allocated"])
    assert len(writers) == len(trainer._execution.arrays)
    for state, written in writers.items():
        (op,) = written
        assert not isinstance(op, CopyOp), state
    assert sum(a.nbytes for a in trainer._execution._spare.values()) == 4  # the loss


def test_arrays_of_the_state_stay_where_they_are(rng: np.random.Generator) -> None:
    trainer = _trainer("digits", Adam(0.01))
    batch = _batch("digits", rng)
    trainer.train_step([batch])
    before = {name: id(array) for name, array in trainer._execution.arrays.items()}
    values = trainer.parameters
    trainer.train_step([batch])
    assert {name: id(array) for name, array in trainer._execution.arrays.items()} == before
    for name, array in values.items():
        assert not np.array_equal(trainer.parameters[name], array), name


@pytest.mark.parametrize("accumulate", [1, 2])
def test_a_loss_that_is_not_finite_keeps_the_state(
    accumulate: int, rng: np.random.Generator
) -> None:
    """Parameters, what the optimizer keeps, and running statistics are those before the step."""
    trainer = _trainer("resnet", Adam(0.01))
    x, labels = _batch("resnet", rng)
    trainer.train_step([(x, labels)] * accumulate)
    before = {name: array.copy() for name, array in trainer._execution.arrays.items()}
    x[1, 2, 3, 4] = np.nan
    with pytest.raises(
        GlowError, match=r"the loss is nan in step 2, .* the input %input has a NaN"
    ):
        trainer.train_step([(x, labels)] * accumulate)
    assert trainer.step == 1
    for name, array in before.items():
        if not name.startswith("gradient."):
            np.testing.assert_array_equal(trainer._execution.arrays[name], array, err_msg=name)


def test_other_uses_of_the_program_keep_the_state(rng: np.random.Generator) -> None:
    trainer = _trainer("digits", SGD(0.1, momentum=0.9))
    batch = _batch("digits", rng)
    trainer.train_step([batch])
    before = {name: array.copy() for name, array in trainer._execution.arrays.items()}
    trainer.gradients(batch)
    trainer.profile(batch, repeat=2)
    for name, array in before.items():
        np.testing.assert_array_equal(trainer._execution.arrays[name], array, err_msg=name)


@pytest.mark.parametrize("accumulate", [1, 2])
def test_an_interrupt_waits_for_the_end_of_a_step(
    accumulate: int, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The number of steps and the place in the data fit the parameters, so a training goes on."""
    x = rng.standard_normal((24, 1, 8, 8)).astype(np.float32)
    data = Batches(x, rng.integers(0, 10, 24), 4)
    whole, part = (_trainer("digits", SGD(0.1, momentum=0.9)) for _ in range(2))
    whole.fit(data, 2, accumulate=accumulate)
    run, calls = Execution.run, list[int]()

    def interrupted(*arguments: Any) -> Mapping[str, np.ndarray]:
        found = run(*arguments)
        calls.append(1)
        if len(calls) in (2, 4, 7):
            signal.raise_signal(signal.SIGINT)
        return found

    monkeypatch.setattr(Execution, "run", interrupted)
    # programs that shells start in the background ignore interrupts
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        for _ in range(3):
            with pytest.raises(KeyboardInterrupt):
                part.fit(data, 2, accumulate=accumulate)
    finally:
        signal.signal(signal.SIGINT, before)
    part.fit(data, 2, accumulate=accumulate)
    assert part.step == whole.step
    for name, array in whole.parameters.items():
        np.testing.assert_array_equal(part.parameters[name], array, err_msg=name)
