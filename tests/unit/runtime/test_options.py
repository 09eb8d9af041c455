"""Options of `glow.compile` of wrong types, and paths of every kind."""

from __future__ import annotations

import os
import time
from dataclasses import fields
from pathlib import Path

import glow
import numpy as np
import onnx
import pytest
from glow.context import make_context
from glow.runtime.cpu_options import CpuOptions
from glow.tests.support.small_models import graph, small_network
from glow.tools.arguments import cpu_options
from glow.tools.run_arguments import run_parser
from xdsl.parser import Parser

BACKENDS = ["cpu", "interpreter"]


@pytest.mark.parametrize(
    "options",
    [
        {"target_cpu": 3},
        {"target_features": ["+avx2"]},
        {"conv_algorithm": []},
        {"precision": 1},
        {"max_elements": 1.5},
        {"max_elements": "many"},
        {"cache": 3},
        {"cache": "a\0b"},
        {"verify": "yes"},
        {"pin": "no"},
        {"timed": 2},
        {"backend": None},
        {"quantize": {}},
        {"quantize": ""},
        {"quantize": 3},
        {"quantize": "glow-quantize{"},
        {"quantize": "nonsense"},
    ],
)
def test_options_of_wrong_types_are_named(options: dict):
    (name,) = options
    wanted = "wrong pass pipeline" if name == "quantize" else name
    with pytest.raises(glow.GlowError, match=f"{wanted}|expected {name}"):
        glow.compile(graph(), **options)


@pytest.mark.parametrize(
    ("backend", "options", "message"),
    [
        ("cpu", {"thread": 2}, "no option 'thread'; did you mean threads"),
        ("cpu", {"nonsense": None}, "no option 'nonsense'; the backend cpu has threads, pin"),
        ("interpreter", {"pinn": True}, "no option 'pinn'; the backend interpreter has threads"),
        ("interpreter", {"pin": True, "precision": None}, "^pin is an option of the backend cpu"),
        ("interpreter", {"precision": "bf16", "pin": True}, "^precision, pin are options of"),
    ],
)
def test_unknown_and_misplaced_options(backend: str, options: dict, message: str):
    with pytest.raises(glow.GlowError, match=message):
        glow.compile(graph(), backend, **options)


def test_options_that_are_not_given_fit_every_backend():
    model = glow.compile(graph(), "interpreter", target_cpu=None, pin=False)
    assert repr(model.backend) == "InterpreterBackend()"


def test_flags_come_from_the_options():
    args = run_parser().parse_args(["m", "--pin", "--threads=3", "--conv-algorithm=direct"])
    given = {n: v for n, v in cpu_options(args).items() if v is not None}
    assert CpuOptions(**given) == CpuOptions(threads=3, pin=True, conv_algorithm="direct")
    absent = {field.name for field in fields(CpuOptions)} - cpu_options(args).keys()
    assert absent == {"quantize", "timed", "reports", "target_triple", "weights", "group"}


def test_any_integer_is_a_number_of_threads():
    glow.compile(graph(), "interpreter", threads=np.int64(1))  # pyright: ignore


@pytest.mark.parametrize("backend", BACKENDS)
def test_paths_that_are_not_utf8(backend: str, tmp_path: Path, rng: np.random.Generator):
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe"))
    folder.mkdir()
    path = folder / "n\udcff.onnx"
    onnx.save(small_network(3), path)
    time.sleep(0.05)
    x = rng.standard_normal((1, 3, 8, 10)).astype(np.float32)
    for form in (path, str(path)):
        model = glow.compile(form, backend, symbols={"batch": 1}, cache=folder / "cache")
        assert np.isfinite(model(x)[0]).all()
        again = Parser(make_context(), str(model.stages["imported"])).parse_module()
        np.testing.assert_array_equal(glow.compile(again, backend)(x)[0], model(x)[0])
    with pytest.raises(glow.ModelError, match="absent"):
        glow.compile(folder / "absent.onnx", backend)


@pytest.mark.parametrize("name", ["a\0b", "a\0b.mlir"])
def test_a_path_with_a_nul_character(name: str):
    for form in (name, Path(name)):
        with pytest.raises(glow.ModelError, match=r"NUL|null"):
            glow.compile(form)
