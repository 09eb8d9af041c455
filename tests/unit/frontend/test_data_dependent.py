"""Values whose size data decides: a bound and a count, or a cut, against onnxruntime."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import glow
import numpy as np
import onnx
import pytest
from glow.errors import CutNeededError, GlowError, UnsupportedError
from glow.frontend.onnx import import_onnx
from glow.models.cut_model import CutModel
from glow.models.specialization import SymbolicModel
from glow.runtime.file_identity import identity, wait_until_older
from glow.tests.support.oracle import run_onnx_model

Arrays = Sequence[np.ndarray]
YOLO = """yolo (float[1,7,131] x) => (float[n,4] boxes, float[n] best, int64[n] classes) {
    parts = Constant<value_ints=[4,3]>()
    first, scores = Split<axis=1>(x, parts)
    all = Transpose<perm=[0,2,1]>(first)
    most = Constant<value_ints=[20]>()
    iou = Constant<value_floats=[0.45]>()
    least = Constant<value_floats=[0.6]>()
    found = NonMaxSuppression<center_point_box=1>(all, scores, most, iou, least)
    zero = Constant<value_ints=[0]>()
    one = Constant<value_ints=[1]>()
    two = Constant<value_ints=[2]>()
    three = Constant<value_ints=[3]>()
    column = Slice(found, two, three, one)
    places = Squeeze(column, one)
    named = Slice(found, one, two, one)
    classes = Squeeze(named, one)
    rows = Squeeze(all, zero)
    boxes = Gather<axis=0>(rows, places)
    table = Squeeze(scores, zero)
    pairs = Concat<axis=1>(named, column)
    best = GatherND(table, pairs)
}"""
SSD = """ssd (float[2,40,4] deltas, float[2,3,40] logits, float[40,4] priors)
        => (float[n,7] detections) {
    tenth = Constant<value_float=0.1>()
    moved = Mul(deltas, tenth)
    boxes = Add(priors, moved)
    scores = Sigmoid(logits)
    most = Constant<value_ints=[6]>()
    iou = Constant<value_floats=[0.5]>()
    least = Constant<value_floats=[0.3]>()
    found = NonMaxSuppression(boxes, scores, most, iou, least)
    two = Constant<value_ints=[0,2]>()
    columns = Gather<axis=1>(found, two)
    one = Constant<value_ints=[1]>()
    chosen = GatherND(boxes, columns)
    score = GatherND(scores, found)
    column = Unsqueeze(score, one)
    pair = Constant<value_ints=[0,1]>()
    labels = Gather<axis=1>(found, pair)
    numbers = Cast<to=1>(labels)
    detections = Concat<axis=1>(numbers, column, chosen)
}"""


def parsed(text: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 18]>\n{text}')


def compared(text: str, calls: Sequence[Arrays], backend: str = "cpu") -> glow.CompiledModel:
    """Returns the compiled model, whose results are those of onnxruntime."""
    proto = parsed(text)
    model = glow.compile(proto, backend)
    for arrays in calls:
        feed = dict(zip([i.name for i in model.get_inputs()], arrays, strict=True))
        for found, wanted in zip(model(*arrays), run_onnx_model(proto, feed), strict=True):
            assert found.dtype == wanted.dtype
            np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6, strict=True)
    return model


def drawn(rng: np.random.Generator) -> list[Arrays]:
    """Returns inputs with few different numbers, about half of them above 0, or none."""
    some = np.round(rng.standard_normal((2, 7, 5))).astype(np.float32)
    return [(some[0],), (some[1],), (np.full((7, 5), -1, np.float32),)]


WITHIN_ONE_PROGRAM = {
    "nonzero": "float[7,5] x) => (int64[2,n] y) { z = Relu(x) y = NonZero(z)",
    "compress": """float[7,5] x) => (float[n,5] y) {
        zero = Constant<value_float=0.0>() sums = ReduceMax<axes=[1], keepdims=0>(x)
        b = Greater(sums, zero) y = Compress<axis=0>(x, b)""",
    "unique": "float[7,5] x) => (float[n] y, int64[n] a, int64[35] b, int64[n] c) {"
    " z = Relu(x) y, a, b, c = Unique(z)",
    "in order": "float[7,5] x) => (float[n] y, int64[n] a, int64[35] b, int64[n] c) {"
    " z = Neg(x) y, a, b, c = Unique<sorted=0>(z)",
    "rows": """float[7,5] x) => (float[n] y, int64[n,2] t) {
        z = Relu(x) i = NonZero(z) t = Transpose(i) v = GatherND(x, t) y = Exp(v)""",
}


@pytest.mark.parametrize("name", WITHIN_ONE_PROGRAM)
def test_one_program_for_all_sizes(name: str, rng: np.random.Generator):
    text = f"g ({WITHIN_ONE_PROGRAM[name]} }}"
    if name == "compress":
        text = text.replace("ReduceMax<axes=[1], keepdims=0>(x)", "ReduceMax<keepdims=0>(x, a)")
        text = text.replace("{\n", "{ a = Constant<value_ints=[1]>()\n", 1)
    model = compared(text, drawn(rng))
    assert not isinstance(model, SymbolicModel | CutModel)
    assert None in model.get_outputs()[0].shape


@pytest.mark.parametrize("shape", ["1", "1,1", "1,1,1"])
def test_places_in_an_input_of_one_element(shape: str):
    sizes = [int(size) for size in shape.split(",")]
    text = f"""g (float[{shape}] x) => (int64[{len(sizes)},n] i, float[n] y) {{
        z = Relu(x) i = NonZero(z) t = Transpose(i) v = GatherND(x, t) y = Exp(v) }}"""
    calls = [[np.full(sizes, number, np.float32)] for number in (-1, 1)]
    assert not isinstance(compared(text, calls), CutModel)


def test_places_in_an_input_without_elements():
    """A detector that finds nothing goes on with no regions."""
    text = """g (float[n] x) => (int64[1,m] y) {
        i = NonZero(x) none = Constant<value=int64[1,0] {}>() y = Mul(i, none) }"""
    compared(text, [[np.zeros(0, np.float32)]])


CUT = {
    "reduction": """float[7,5] x) => (float y, float[n] w) { z = Relu(x) i = NonZero(z)
        t = Transpose(i) v = GatherND(x, t) y = ReduceSum<keepdims=0>(v) w = Softmax<axis=0>(v)""",
    "shape": """float[7,5] x) => (int64[2] s, float[2,n] w) {
        z = Relu(x) i = NonZero(z) s = Shape(i) w = ConstantOfShape(s)""",
    "size that has to be one": """float[7,5] x) => (float[n] y) {
        a = Constant<value_ints=[0]>() e = Exp(x) u = ReduceSum<keepdims=0>(e, a)
        z = Constant<value_floats=[0.0, 0.0]>() w = Concat<axis=0>(u, z) i = NonZero(w)
        t = Transpose(i) v = GatherND(w, t) y = Add(v, u)""",
    "pairs": """float[7,5] x) => (bool[n,n] y) { u, a, b, c = Unique(x)
        one = Constant<value_ints=[1]>() column = Unsqueeze(u, one) y = Less(column, u)""",
}


@pytest.mark.parametrize("name", CUT)
def test_a_size_that_is_needed_cuts_the_program(name: str, rng: np.random.Generator):
    model = compared(f"g ({CUT[name]} }}", drawn(rng)[:2])
    assert isinstance(model, CutModel)
    assert "; cut at " in repr(model)
    assert len(model.parts[1].specializations) <= 2
    with pytest.raises(GlowError, match=r"use model\.parts\[0\]\.memory or model\.parts\[1\]"):
        assert model.memory


def test_a_value_that_the_network_computes_cuts_the_program(rng: np.random.Generator):
    """More elements than a value that inputs decide may have."""
    text = """g (float[70,60] x) => (float[n] y) {
        most = ReduceMax<keepdims=0>(x) whole = Cast<to=7>(most)
        one = Constant<value_ints=[1]>() end = Reshape(whole, one)
        all = Constant<value_ints=[-1]>() flat = Reshape(x, all)
        zero = Constant<value_ints=[0]>() y = Slice(flat, zero, end) }"""
    x = rng.uniform(0, 1, (70, 60)).astype(np.float32)
    model = compared(text, [(x,), (x * 37,), (x * 5,)])
    assert isinstance(model, CutModel)


def test_a_value_that_takes_too_much_to_fold_cuts_the_program():
    text = """g (int64[2] ids) => (float[n] y) {
        one = Constant<value_ints=[1]>()
        zero = Constant<value_ints=[0]>()
        numbers = Cast<to=1>(ids)
        column = Unsqueeze(numbers, one)
        shape = Constant<value_ints=[2,60000]>()
        wide = Expand(column, shape)
        most = ReduceMax<keepdims=0>(wide)
        count = Cast<to=7>(most)
        size = Unsqueeze(count, zero)
        part = Constant<value_float=0.5>()
        y = Expand(part, size)
    }"""
    compared(text, [[np.array([5, 3])], [np.array([2, 7])]], "interpreter")


def test_a_branch_on_a_computed_condition(rng: np.random.Generator):
    text = """g (float[70,60] x) => (float[70,60] y) {
        zero = Constant<value_float=0.0>() sum = ReduceSum<keepdims=0>(x) c = Less(zero, sum)
        y = If (c) <then_branch = a () => (float[70,60] t) { t = Relu(x) },
                    else_branch = b () => (float[70,60] e) { e = Neg(x) }> }"""
    x = rng.uniform(-0.1, 1, (70, 60)).astype(np.float32)
    compared(text, [(x,), (-x,), (x,)])


@pytest.mark.parametrize("backend", ["cpu", "interpreter"])
def test_yolo_head(backend: str, rng: np.random.Generator):
    def image() -> Arrays:
        ends = rng.uniform(0, 640, (1, 2, 131)), rng.uniform(30, 200, (1, 2, 131))
        parts = [*ends, rng.uniform(0, 1, (1, 3, 131))]
        return (np.concatenate(parts, 1).astype(np.float32),)

    model = compared(YOLO, [image(), image()], backend)
    assert not isinstance(model, SymbolicModel | CutModel)


def test_ssd_head(rng: np.random.Generator):
    corners = np.sort(rng.uniform(0, 1, (40, 2, 2)), axis=1).reshape(40, 4)
    given = (*(rng.standard_normal(s) for s in ((2, 40, 4), (2, 3, 40))), corners)
    compared(SSD, [[a.astype(np.float32) for a in given]])


def test_thresholds_and_the_limit_come_with_a_call(rng: np.random.Generator):
    text = """g (float[1,N,4] b, float[1,2,N] s, int64[1] m, float[1] i, float[1] t)
        => (int64[n,3] y) { y = NonMaxSuppression(b, s, m, i, t) }"""
    calls = [
        (
            rng.uniform(0, 1, (1, count, 4)).astype(np.float32),
            rng.uniform(0, 1, (1, 2, count)).astype(np.float32),
            *(np.array([most]), *(np.array([n], np.float32) for n in rng.uniform(0, 0.6, 2))),
        )
        for count, most in ((9, 3), (5, 100), (9, 0))
    ]
    model = compared(text, calls)
    assert len(model.specializations) == 3


def test_threads_divide_the_classes(rng: np.random.Generator):
    boxes = rng.uniform(0, 1, (2, 70, 4)).astype(np.float32)
    scores = rng.uniform(0, 1, (2, 5, 70)).astype(np.float32)
    text = """g (float[2,70,4] b, float[2,5,70] s) => (int64[n,3] y) {
        m = Constant<value_ints=[9]>() i = Constant<value_floats=[0.4]>()
        y = NonMaxSuppression(b, s, m, i) }"""
    (wanted,) = glow.compile(parsed(text))(boxes, scores)
    (found,) = glow.compile(parsed(text), threads=2)(boxes, scores)
    np.testing.assert_array_equal(found, wanted, strict=True)


def test_a_program_from_the_cache_knows_its_counts(tmp_path: Path, rng: np.random.Generator):
    path = tmp_path / "model.onnx"
    onnx.save(parsed("g (float[6] x) => (int64[1,n] y) { z = Relu(x) y = NonZero(z) }"), path)
    wait_until_older(identity(path))
    x = rng.standard_normal(6).astype(np.float32)
    for again in (False, True):
        model = glow.compile(path, cache=tmp_path / "cache")
        assert model.from_cache == again
        np.testing.assert_array_equal(model(x)[0], np.array(np.nonzero(x > 0)), strict=True)


def test_an_import_says_where_it_has_to_be_cut():
    proto = parsed(f"g ({CUT['shape']} }}")
    with pytest.raises(CutNeededError, match="Shape with output 's': it needs the size of a dim"):
        import_onnx(proto)


def test_operators_behind_a_cut_are_checked_at_once():
    text = f"g ({CUT['shape'].replace('w = ConstantOfShape(s)', 'w = com.example.Odd(s)')} }}"
    proto = parsed(text.replace('"" : 18', '"" : 18, "com.example" : 1'))
    proto.opset_import.add(domain="com.example", version=1)
    with pytest.raises(UnsupportedError, match=r"com\.example\.Odd"):
        glow.compile(proto)
