"""`glow.compile` and calls of what it returns: inputs, outputs, errors, threads, the cache."""

from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import glow
import numpy as np
import onnx
import onnxruntime
import pytest
from glow.runtime.cpu_options import MOST_THREADS
from glow.tests.support.small_models import GRAPH, graph, small_network

BACKENDS = ["cpu", "interpreter"]


@pytest.fixture
def xy(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    return rng.standard_normal((2, 3), np.float32), rng.standard_normal((2, 3), np.float32)


# running


@pytest.mark.parametrize("backend", BACKENDS)
def test_by_position_by_name_and_by_output_name(backend: str, xy):
    x, y = xy
    model = glow.compile(graph(), backend)
    expected = [x + y, x - y]
    for outputs in (model(x, y), model(x, y=y), model(y=y, x=x), model.run(None, {"y": y, "x": x})):
        assert len(outputs) == 2
        for found, want in zip(outputs, expected, strict=True):
            np.testing.assert_array_equal(found, want)
    (difference,) = model.run(["difference"], {"x": x, "y": y})
    np.testing.assert_array_equal(difference, expected[1])
    twice = model.run(["difference", "sum", "difference"], {"x": x, "y": y})
    np.testing.assert_array_equal(twice[2], twice[0])
    assert model.run([], {"x": x, "y": y}) == []
    from_iterator = model.run(iter(["difference", "sum"]), {"x": x, "y": y})  # pyright: ignore
    np.testing.assert_array_equal(from_iterator, expected[::-1])


@pytest.mark.parametrize(
    ("dtype", "good", "bad"),
    [
        (np.float32, [[0.1, 2.5, -3.25], [1, 2, 3], (True, 2, 0.5)], [[1j, 2, 3], ["1", "2", "3"]]),
        (np.int8, [[-128, 127, 0], [True, False, 3]], [[128, 0, 0], [0.5, 1, 2], [1.0, 2.0, 3.0]]),
        (np.int64, [[2**40, -1, 0]], [[0.5, 1, 2], [2**70, 1, 2]]),
        (np.bool_, [[True, False, True]], [[1, 0, 1], [0.5, 0.0, 1.0]]),
    ],
)
def test_lists_of_numbers_get_the_declared_dtype(dtype: type, good: list, bad: list):
    """As in onnxruntime, but no number is cut off and none wraps around."""
    element = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    value = onnx.helper.make_tensor_value_info
    network = onnx.helper.make_graph(
        [onnx.helper.make_node("Identity", ["x"], ["y"])],
        "copy",
        [value("x", element, [3])],
        [value("y", element, [3])],
    )
    model = glow.compile(onnx.helper.make_model(network), "interpreter")
    for numbers in good:
        (found,) = model(numbers)
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, np.array(numbers, dtype))
    for numbers in bad:
        with pytest.raises(glow.InputError, match="'x': expected"):
            model(numbers)


def test_constants_are_not_given_at_calls():
    """An input with an initializer may be given to onnxruntime; here the error says what it is."""
    network = onnx.parser.parse_model("""
      <ir_version: 8, opset_import: ["" : 17]>
      g (float[3] x, float[3] w) => (float[3] y) <float[3] w = {1.0, 2.0, 3.0}> { y = Add(x, w) }
    """)
    model = glow.compile(network, "interpreter")
    x = np.ones(3, np.float32)
    np.testing.assert_array_equal(model(x)[0], [2, 3, 4])
    with pytest.raises(glow.InputError, match=r"called 'w'; .* 'x' \(those with an initializer"):
        model(x=x, w=x)


@pytest.mark.parametrize("backend", BACKENDS)
def test_agrees_with_onnxruntime_in_values_and_description(backend: str, rng: np.random.Generator):
    network = small_network(int(rng.integers(2**32)))
    model = glow.compile(network, backend, symbols={"batch": 2})
    session = onnxruntime.InferenceSession(network.SerializeToString())
    x = rng.standard_normal((2, 3, 8, 10), np.float32)
    for found, want in zip(model(x), map(np.asarray, session.run(None, {"image": x})), strict=True):
        np.testing.assert_allclose(found, want, rtol=0, atol=1e-5 * np.abs(want).max())
    described = [*session.get_inputs(), *session.get_outputs()]
    for ours, theirs in zip([*model.get_inputs(), *model.get_outputs()], described, strict=True):
        assert (ours.name, ours.type) == (theirs.name, theirs.type)
        assert ours.shape == [2, *theirs.shape[1:]]
        assert ours.dtype == np.float32


def test_type_names_are_those_of_onnxruntime():
    spelled = {"f16": "float16", "f32": "float", "f64": "double", "bf16": "bfloat16", "i1": "bool"}
    spelled |= {"i8": "int8", "ui8": "uint8", "i32": "int32", "i64": "int64"}
    for element, name in spelled.items():
        t = f"tensor<4x{element}>"
        text = f"func.func @main(%x: {t}) -> {t} {{ func.return %x : {t} }}"
        (info,) = glow.compile(graph(text), "interpreter").get_inputs()
        assert info.type == f"tensor({name})"


@pytest.mark.parametrize("backend", BACKENDS)
def test_any_memory_layout_is_accepted(backend: str, xy):
    x, y = xy
    model = glow.compile(graph(), backend)
    read_only = x.copy()
    read_only.flags.writeable = False
    wide = np.zeros((4, 6), np.float32)
    wide[::2, ::-2] = x
    raw = np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(np.float32).reshape(2, 3)
    for layout in (
        read_only,
        wide[::2, ::-2],
        np.asfortranarray(x),
        x.astype(">f4"),
        np.ascontiguousarray(x.T).T,
        x[None][0],
        np.ma.masked_array(x),
        raw,
    ):
        before = layout.tobytes()
        np.testing.assert_array_equal(model(layout, y)[0], x + y)
        assert layout.tobytes() == before
    np.testing.assert_array_equal(model(x, x)[1], np.zeros((2, 3)))


@pytest.mark.parametrize("backend", BACKENDS)
def test_outputs_are_fresh(backend: str, xy):
    x, y = xy
    model = glow.compile(graph(), backend)
    first = model(x, y)[0]
    kept = first.copy()
    model(y, y)
    np.testing.assert_array_equal(first, kept)
    first[:] = 0
    np.testing.assert_array_equal(model(x, y)[0], kept)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.filterwarnings("ignore:.*:RuntimeWarning")
def test_nan_and_infinity_do_not_crash(backend: str):
    network = small_network(1)
    model = glow.compile(network, backend, symbols={"batch": 1})
    for value in (np.nan, np.inf, -np.inf, 3e38):
        outputs = model(np.full((1, 3, 8, 10), value, np.float32))
        assert [o.shape for o in outputs] == [(1, 7), (1, 7)]
    assert np.isnan(model(np.full((1, 3, 8, 10), np.nan, np.float32))[1]).all()


@pytest.mark.parametrize("backend", BACKENDS)
def test_empty_tensors(backend: str):
    t = "tensor<0x3xf32>"
    text = f"""func.func @main(%x: {t} {{glow.name = "x"}}) -> ({t} {{glow.name = "y"}}) {{
      %0 = glow.relu %x : ({t}) -> {t}
      func.return %0 : {t}
    }}"""
    (y,) = glow.compile(graph(text), backend)(np.zeros((0, 3), np.float32))
    assert y.shape == (0, 3)


@pytest.mark.parametrize("backend", BACKENDS)
def test_scalars_and_inputs_returned_as_they_are(backend: str):
    text = """func.func @main(%x: tensor<f32> {glow.name = "x"})
        -> (tensor<f32> {glow.name = "y"}, tensor<f32> {glow.name = "same"}) {
      %0 = glow.neg %x : (tensor<f32>) -> tensor<f32>
      func.return %0, %x : tensor<f32>, tensor<f32>
    }"""
    model = glow.compile(graph(text), backend)
    x = np.array(2.5, np.float32)
    y, same = model(x)
    assert (y.shape, y[()], same[()]) == ((), -2.5, 2.5)
    assert not np.shares_memory(x, same)


@pytest.mark.parametrize("backend", BACKENDS)
def test_threads_share_a_model(backend: str, rng: np.random.Generator):
    model = glow.compile(small_network(3), backend, symbols={"batch": 1})
    images = rng.standard_normal((40, 1, 3, 8, 10)).astype(np.float32)
    expected = [model(image) for image in images]
    with ThreadPoolExecutor(4) as pool:
        for found, want in zip(pool.map(model, images), expected, strict=True):
            for a, b in zip(found, want, strict=True):
                np.testing.assert_array_equal(a, b)


# wrong arguments


def test_wrong_inputs_are_explained(xy):
    x, y = xy
    model = glow.compile(graph(), "interpreter")
    cases = [
        (lambda: model(), "missing input 'x', 'y'"),
        (lambda: model(x), "missing input 'y'"),
        (lambda: model(x, y, x), "at most 2 inputs, found 3"),
        (lambda: model(x, x=y), "'x' was given both"),
        (lambda: model(x, z=y), "no input is called 'z'; the inputs are 'x', 'y'"),
        (lambda: model(x, y[:, :2]), r"'y': expected shape \(2, 3\), found \(2, 2\)"),
        (lambda: model(x, y.ravel()), r"'y': expected shape \(2, 3\), found \(6,\)"),
        (lambda: model(x.astype(np.float64), y), "'x': expected dtype float32, found float64"),
        (lambda: model(x.astype(int), y), "'x': expected dtype float32, found int64"),
        (lambda: model("text", y), r"'x': expected an array float32\[2, 3\], found str without nu"),
        (lambda: model([{}], y), "'x': .*found list without numbers"),
        (lambda: model({"x": x, "y": y}), r"found a dictionary.*model\(\*\*feed\)"),
        (lambda: model(x, {"y": y}), r"found a dictionary.*model\.run\(None, feed\)"),
        (lambda: model.run(3, {"x": x, "y": y}), "list of output names, found 3"),  # pyright: ignore
        (lambda: model([[1], [2, 3]], y), "'x'"),
        (lambda: model(None, y), r"'x': expected an array float32\[2, 3\], found None"),
        (lambda: model.run(["total"], {"x": x, "y": y}), "no output is called 'total'"),
        (lambda: model.run("sum", {"x": x, "y": y}), "expected a list"),  # pyright: ignore
    ]
    for call, message in cases:
        with pytest.raises(glow.InputError, match=message):
            call()


# models


def test_every_form_of_a_model(tmp_path: Path, rng: np.random.Generator):
    network = small_network(5)
    data = network.SerializeToString()
    path = tmp_path / "small.onnx"
    path.write_bytes(data)
    x = rng.standard_normal((1, 3, 8, 10), np.float32)
    symbols = {"batch": 1}
    expected = glow.compile(network, "interpreter", symbols=symbols)(x)
    for form in (data, path, str(path)):
        found = glow.compile(form, "interpreter", symbols=symbols)(x)
        np.testing.assert_array_equal(found[1], expected[1])


def test_text_of_the_graph_dialect(tmp_path: Path, xy):
    path = tmp_path / "graph.mlir"
    path.write_text(GRAPH)
    np.testing.assert_array_equal(glow.compile(path, "interpreter")(*xy)[0], xy[0] + xy[1])
    path.write_text("func.func @main( nonsense")
    with pytest.raises(glow.ModelError, match=r"graph\.mlir"):
        glow.compile(path, "interpreter")
    with pytest.raises(glow.ModelError, match=r"absent\.mlir: error: No such file"):
        glow.compile(tmp_path / "absent.mlir", "interpreter")
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(glow.ModelError, match=r"graph\.mlir:1:1: error: expected text in UTF-8"):
        glow.compile(path, "interpreter")


@pytest.mark.parametrize("backend", BACKENDS)
def test_text_with_weights_in_a_file(backend: str, tmp_path: Path, rng: np.random.Generator):
    weights = rng.standard_normal((4, 3), np.float32)
    data = tmp_path / "weights.bin"
    data.write_bytes(b"head" + weights.tobytes())
    path = tmp_path / "graph.mlir"
    path.write_text(f"""
      func.func @main(%x: tensor<2x4xf32> {{glow.name = "x"}}) -> tensor<2x3xf32> {{
        %w = glow.constant #glow.blob<"{data}", 4, 48> : tensor<4x3xf32>
        %0 = glow.matmul %x, %w : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
        func.return %0 : tensor<2x3xf32>
      }}""")
    x = rng.standard_normal((2, 4), np.float32)
    model = glow.compile(path, backend)
    np.testing.assert_allclose(model(x)[0], x @ weights, rtol=1e-5, atol=1e-5)


def test_weights_that_cannot_be_read(tmp_path: Path):
    data = tmp_path / "weights.bin"
    text = f"""
      func.func @main(%x: tensor<2x4xf32>) -> tensor<2x3xf32> {{
        %w = glow.constant #glow.blob<"{data}", 4, 48> : tensor<4x3xf32>
        %0 = glow.matmul %x, %w : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
        func.return %0 : tensor<2x3xf32>
      }}"""
    with pytest.raises(glow.ModelError, match=r"cannot read .*\bw\b.*No such file"):
        glow.compile(graph(text))
    data.write_bytes(bytes(40))
    with pytest.raises(glow.GlowError, match=r"\bw: .*has 40 bytes.*needs 48 bytes at offset 4"):
        glow.compile(graph(text))


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_module_is_not_modified(backend: str):
    module = graph()
    before = str(module)
    model = glow.compile(module, backend)
    assert str(module) == before
    assert model.stages["imported"] is not module


def test_limit_of_elements():
    model = small_network(1)
    glow.compile(model, "interpreter", symbols={"batch": 1}, max_elements=1200)
    with pytest.raises(glow.ModelError, match="limit of 1000; max_elements=1120 raises it"):
        glow.compile(model, "interpreter", symbols={"batch": 1}, max_elements=1000)
    with pytest.raises(glow.GlowError, match="max_elements to be an integer of at least 1"):
        glow.compile(model, "interpreter", symbols={"batch": 1}, max_elements=0)


def test_wrong_models_and_options():
    with pytest.raises(glow.ModelError, match="@main"):
        glow.compile(graph("func.func @other() { func.return }"), "interpreter")
    with pytest.raises(glow.ModelError, match="expected a tensor as input 0"):
        glow.compile(graph("func.func @main(%x: f32) { func.return }"), "interpreter")
    with pytest.raises(glow.ModelError, match="expected a static shape of input 0"):
        glow.compile(graph("func.func @main(%x: tensor<?xf32>) { func.return }"), "interpreter")
    with pytest.raises(glow.GlowError, match=r"no backend is called 'gpu'; installed: .*cpu"):
        glow.compile(graph(), "gpu")
    with pytest.raises(glow.GlowError, match=r"no symbol is called .batch.; there are none"):
        glow.compile(graph(), "interpreter", symbols={"batch": 2})
    for threads in (0, -1, 1.5, True, "1"):
        with pytest.raises(glow.GlowError, match="at least 1"):
            glow.compile(graph(), "interpreter", threads=threads)  # pyright: ignore


# the cache of compiled code


def test_cache_directory_off_and_unusable(tmp_path: Path, xy):
    x, y = xy
    folder = tmp_path / "cache"
    glow.compile(graph(), cache=folder)
    entries = {p.name: p.stat().st_ino for p in folder.iterdir()}
    assert entries
    glow.compile(graph(), cache=folder)
    assert {p.name: p.stat().st_ino for p in folder.iterdir()} == entries
    for path in folder.iterdir():
        path.write_bytes(path.read_bytes()[:100])
    np.testing.assert_array_equal(glow.compile(graph(), cache=folder)(x, y)[0], x + y)

    untouched = tmp_path / "untouched"
    before = os.environ.get("GLOW_CACHE_DIR")
    os.environ["GLOW_CACHE_DIR"] = str(untouched)
    try:
        glow.compile(graph(), cache=False)
        assert not untouched.exists()
        glow.compile(graph())
        assert untouched.is_dir()
    finally:
        if before is None:
            del os.environ["GLOW_CACHE_DIR"]
        else:
            os.environ["GLOW_CACHE_DIR"] = before

    file = tmp_path / "file"
    file.write_text("in the way")
    with pytest.warns(RuntimeWarning, match="compiling without it"):
        np.testing.assert_array_equal(glow.compile(graph(), cache=file)(x, y)[0], x + y)
    assert stat.S_ISREG(file.stat().st_mode)


def test_feeds_that_are_no_dictionaries():
    model = glow.compile(graph("func.func @main() { func.return }"), "interpreter")
    for feed in (None, [np.zeros(1)], np.zeros(1), "x"):
        with pytest.raises(glow.InputError, match="expected a dictionary of arrays by input name"):
            model.run(None, feed)  # pyright: ignore[reportArgumentType]


def test_text_that_is_nested_too_deeply(tmp_path: Path):
    path = tmp_path / "deep.mlir"
    path.write_text('"test.op"() ({\n' * 9000)
    with pytest.raises(
        glow.ModelError, match=r"deep\.mlir:\d+:\d+: error: the text is nested too deeply"
    ):
        glow.compile(path)


def test_absurd_numbers_of_threads_are_refused():
    for threads in (MOST_THREADS + 1, 10**9, 2**70):
        with pytest.raises(glow.GlowError, match=f"1 to {MOST_THREADS}, found {threads}"):
            glow.compile(graph(), threads=threads)


def test_pinning_is_for_the_cpu():
    with pytest.raises(glow.GlowError, match="pin is an option of the backend cpu"):
        glow.compile(graph(), "interpreter", pin=True)
