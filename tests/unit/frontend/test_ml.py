"""Models of ai.onnx.ml: the interpreter, and for some the compiled program, beside onnxruntime."""

from __future__ import annotations

from ast import literal_eval
from typing import Any

import glow
import numpy as np
import onnx
import onnxruntime
import pytest
from glow.errors import ModelError, UnsupportedError
from onnx import TensorProto, helper, numpy_helper

ML = "ai.onnx.ml"
MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")


def model_of(
    operator: str, x: np.ndarray, outputs: tuple[int, ...] = (1,), opset: int = 3, **attributes: Any
) -> onnx.ModelProto:
    """Returns a model of one node, whose outputs have these ONNX types."""
    names = [f"y{i}" for i in range(len(outputs))]
    node = helper.make_node(operator, ["x"], names, domain=ML, **attributes)
    code = helper.np_dtype_to_tensor_dtype(x.dtype)
    graph = helper.make_graph(
        [node],
        "ml",
        [helper.make_tensor_value_info("x", code, x.shape)],
        [helper.make_tensor_value_info(n, t, None) for n, t in zip(names, outputs, strict=True)],
    )
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid(ML, opset)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def session(model: onnx.ModelProto) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    return onnxruntime.InferenceSession(
        model.SerializeToString(), options, ["CPUExecutionProvider"]
    )


def same(model: onnx.ModelProto, x: np.ndarray, backend: str = "interpreter") -> list[np.ndarray]:
    """Returns our results, after their comparison with those of onnxruntime."""
    runtime = session(model)
    wanted: Any = runtime.run(None, {runtime.get_inputs()[0].name: x})
    found = glow.compile(model, backend=backend)(x)
    results: list[np.ndarray] = list(found) if isinstance(found, (list, tuple)) else [found]
    for ours, theirs in zip(results, wanted, strict=True):
        if isinstance(theirs, list):  # maps
            theirs = np.array([list(row.values()) for row in theirs], np.float32)
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
        if theirs.dtype.kind == "f":
            scale = np.abs(theirs[np.isfinite(theirs)]).max(initial=1)
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-5 * scale)
        else:
            np.testing.assert_array_equal(ours, theirs)
    return results


def trees(
    rng: np.random.Generator, count: int, modes: tuple[str, ...], missing: bool = False
) -> tuple[dict[str, Any], list[tuple[int, int]]]:
    """Returns the attributes of random trees with few different thresholds, and their leaves."""
    table: dict[str, list] = {
        name: []
        for name in (
            *("treeids", "nodeids", "featureids", "values", "modes", "truenodeids"),
            *("falsenodeids", "missing_value_tracks_true"),
        )
    }
    leaves: list[tuple[int, int]] = []
    for tree in range(count):
        pending, number = [(0, 0)], 1
        while pending:
            node, depth = pending.pop()
            leaf = depth > 0 and rng.random() < 0.2 * depth
            children = (0, 0) if leaf else (number, number + 1)
            row = (
                *(tree, node, int(rng.integers(4)), float(rng.integers(-2, 3)) / 2),
                *("LEAF" if leaf else str(rng.choice(modes)), *children),
                int(missing and rng.random() < 0.5),
            )
            for name, value in zip(table, row, strict=True):
                table[name].append(value)
            if leaf:
                leaves.append((tree, node))
                continue
            number += 2
            pending += [(child, depth + 1) for child in children]
    return {f"nodes_{name}": values for name, values in table.items()}, leaves


def features(rng: np.random.Generator, dtype: Any = np.float32, nan: bool = True) -> np.ndarray:
    """Returns features that often equal thresholds."""
    x = (rng.integers(-3, 4, (37, 4)) / 2).astype(dtype)
    if nan:
        x[rng.random(x.shape) < 0.2] = np.nan
    return x


def regressor(
    rng: np.random.Generator, x: np.ndarray, modes: tuple[str, ...], missing: bool, **more: Any
) -> onnx.ModelProto:
    nodes, leaves = trees(rng, 7, modes, missing)
    targets = more.pop("n_targets", 1)
    return model_of(
        "TreeEnsembleRegressor",
        x,
        **nodes,
        n_targets=targets,
        target_treeids=[t for t, _ in leaves for _ in range(targets)],
        target_nodeids=[n for _, n in leaves for _ in range(targets)],
        target_ids=[i for _ in leaves for i in range(targets)],
        target_weights=rng.standard_normal(targets * len(leaves)).tolist(),
        **more,
    )


@pytest.mark.parametrize("modes", [*((m,) for m in MODES), MODES], ids=lambda m: m[-1])
@pytest.mark.parametrize("missing", [False, True])
def test_tests_and_missing_values(
    rng: np.random.Generator, modes: tuple[str, ...], missing: bool
) -> None:
    x = features(rng)
    same(regressor(rng, x, modes, missing), x)


@pytest.mark.parametrize("aggregate", ["SUM", "AVERAGE", "MIN", "MAX"])
def test_aggregates_of_targets(rng: np.random.Generator, aggregate: str) -> None:
    x, base = features(rng, nan=False), [0.5, -1.0, 2.0]
    more: dict[str, Any] = {"aggregate_function": aggregate, "base_values": base}
    same(regressor(rng, x, MODES[:1], False, n_targets=3, **more), x)


def test_other_features(rng: np.random.Generator) -> None:
    """Whole numbers, for which onnxruntime has no regression, are features of f32."""
    x = features(rng, np.float64, nan=False)
    same(regressor(rng, x, MODES, False), x)
    whole = features(rng, np.int64, nan=False)
    model = regressor(rng, whole.astype(np.float32), MODES, False)
    wanted = same(model, whole.astype(np.float32))[0]
    model.graph.input[0].type.tensor_type.elem_type = TensorProto.INT64
    (found,) = glow.compile(model, backend="interpreter")(whole)
    np.testing.assert_array_equal(found, wanted)


def classifier(
    rng: np.random.Generator, x: np.ndarray, labels: list[int], per_tree: bool, **more: Any
) -> onnx.ModelProto:
    """Returns trees whose leaves have a weight for each class, or for the class of their tree."""
    nodes, leaves = trees(rng, 9, MODES[:1])
    classes = 1 if len(labels) == 2 else len(labels)
    entries = [
        (t, n, c) for t, n in leaves for c in ([t % classes] if per_tree else range(classes))
    ]
    weights = rng.standard_normal(len(entries))
    if more.pop("positive", False):
        weights = np.abs(weights) / 9
    return model_of(
        "TreeEnsembleClassifier",
        x,
        (TensorProto.INT64, TensorProto.FLOAT),
        **nodes,
        class_treeids=[t for t, _, _ in entries],
        class_nodeids=[n for _, n, _ in entries],
        class_ids=[c for _, _, c in entries],
        class_weights=weights.tolist(),
        classlabels_int64s=labels,
        **more,
    )


@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"])
@pytest.mark.parametrize("per_tree", [False, True])
def test_classes(rng: np.random.Generator, transform: str, per_tree: bool) -> None:
    x = features(rng, nan=False)
    for labels, more in (([4, 0, 7, 9], {}), ([3, 5], {}), ([3, 5], {"positive": True})):
        same(classifier(rng, x, labels, per_tree, post_transform=transform, **more), x)


def test_trees_of_the_newest_opset(rng: np.random.Generator) -> None:
    """
    Sets have members, one tree is a leaf, and NaN is no member, but the second test lets it pass.
    """
    x = features(rng)
    tensor = numpy_helper.from_array
    nan = np.nan
    model = model_of(
        "TreeEnsemble",
        x,
        opset=5,
        n_targets=2,
        aggregate_function=1,
        tree_roots=[0, 3],
        nodes_featureids=[0, 1, 2, 0],
        nodes_modes=tensor(np.array([6, 6, 0, 0], np.uint8)),
        nodes_splits=tensor(np.array([0, 0, 0.5, 0], np.float32)),
        nodes_truenodeids=[1, 0, 1, 0],
        nodes_trueleafs=[0, 1, 1, 1],
        nodes_falsenodeids=[2, 2, 3, 0],
        nodes_falseleafs=[0, 1, 1, 1],
        nodes_missing_value_tracks_true=[0, 1, 0, 0],
        leaf_targetids=[0, 1, 0, 1],
        leaf_weights=tensor(np.array([1, 2, 4, 8], np.float32)),
        membership_values=tensor(np.array([1, -0.5, 1.5, nan, 0, nan], np.float32)),
    )
    (found,) = glow.compile(model, backend="interpreter")(x)
    in_first = np.isin(x[:, 0], (1, -0.5, 1.5))
    in_second = np.isnan(x[:, 1]) | (x[:, 1] == 0)
    leaf = np.where(in_first, np.where(in_second, 0, 2), np.where(x[:, 2] <= 0.5, 1, 3))
    wanted = np.zeros((len(x), 2))
    np.add.at(wanted, (np.arange(len(x)), leaf % 2), np.array([1, 2, 4, 8])[leaf])
    wanted[:, 0] += 1
    np.testing.assert_array_equal(found, wanted)


def test_compiled_trees(rng: np.random.Generator) -> None:
    x = features(rng)
    same(regressor(rng, x, MODES, True, n_targets=2), x, "cpu")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"nodes_truenodeids": [1, 0, 0]}, "follows two others"),
        ({"nodes_truenodeids": [7, 0, 0]}, "expected node 7 in tree 0, found none"),
        ({"nodes_modes": ["BRANCH_UP", "LEAF", "LEAF"]}, "BRANCH_UP"),
        ({"nodes_featureids": [4, 0, 0]}, "expected tests of the 4 features"),
        ({"target_ids": [0, 1]}, "expected targets in 0 to 0"),
        ({"nodes_falsenodeids": [2, 0]}, "equally many"),
    ],
)
def test_bad_trees(rng: np.random.Generator, change: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {
        "nodes_treeids": [0, 0, 0],
        "nodes_nodeids": [0, 1, 2],
        "nodes_featureids": [0, 0, 0],
        "nodes_values": [0.5, 0.0, 0.0],
        "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
        "nodes_truenodeids": [2, 0, 0],
        "nodes_falsenodeids": [1, 0, 0],
        "target_treeids": [0, 0],
        "target_nodeids": [1, 2],
        "target_ids": [0, 0],
        "target_weights": [1.0, 2.0],
        "n_targets": 1,
    }
    x = features(rng)
    same(model_of("TreeEnsembleRegressor", x, **given), x)
    with pytest.raises(ModelError, match=message):
        glow.compile(model_of("TreeEnsembleRegressor", x, **{**given, **change}))


def test_preparation_of_features(rng: np.random.Generator) -> None:
    x = features(rng)
    plain = features(rng, nan=False)
    same(model_of("Scaler", x, offset=[1.0, 2.0, 3.0, 4.0], scale=[0.5, 2.0, 1.0, 4.0]), x)
    same(model_of("Binarizer", plain, threshold=0.5), plain)
    same(model_of("Imputer", x, imputed_value_floats=[7.0], replaced_value_float=np.nan), x)
    values = [1.0, 2.0, 3.0, 4.0]
    same(model_of("Imputer", x, imputed_value_floats=values, replaced_value_float=0.5), x)
    for norm in ("MAX", "L1", "L2"):
        same(model_of("Normalizer", plain, norm=norm), plain)
    numbers = rng.integers(0, 5, (7, 2))
    same(model_of("OneHotEncoder", numbers, cats_int64s=[3, 0, 4]), numbers)


def test_labels_of_numbers(rng: np.random.Generator) -> None:
    x, whole = features(rng), rng.integers(0, 5, (3, 7))
    keys: dict[str, Any] = {"keys_int64s": [3, 0, 4], "values_int64s": [7, -2, 9]}
    same(model_of("LabelEncoder", whole, (TensorProto.INT64,), **keys), whole)
    keys = {"keys_floats": [0.5, np.nan, 1.0], "values_floats": [2.0, 3.0, 4.0]}
    same(model_of("LabelEncoder", x, opset=4, default_float=9.0, **keys), x)


def test_maps_are_matrices_and_strings_are_numbers(rng: np.random.Generator) -> None:
    x = features(rng, nan=False)
    trees = classifier(rng, x, [3, 4, 5], False)
    node, graph = trees.graph.node[0], trees.graph
    graph.node.append(
        helper.make_node("ZipMap", ["y1"], ["z"], domain=ML, classlabels_int64s=[3, 4, 5])
    )
    graph.output[1].name = "z"
    graph.output[1].type.Clear()
    of = graph.output[1].type.sequence_type.elem_type.map_type
    of.key_type, of.value_type.tensor_type.elem_type = TensorProto.INT64, TensorProto.FLOAT
    with pytest.warns(UserWarning, match="zipmap=False"):
        same(trees, x)
    labels = next(a for a in node.attribute if a.name == "classlabels_int64s")
    labels.CopyFrom(helper.make_attribute("classlabels_strings", ["c", "a", "b"]))
    with pytest.warns(UserWarning, match="'y0' has strings; .* in \\['c', 'a', 'b'\\]"):
        found = glow.compile(trees, backend="interpreter")(x)
    np.testing.assert_array_equal(found[0], found[1].argmax(1))


def of_strings(text: str, *constants: list[str]) -> onnx.ModelProto:
    """Returns a model from the text of a graph, with constants `c0`, `c1` and so on of strings."""
    head = '<ir_version: 9, opset_import: ["": 19, "ai.onnx.ml": 3]>'
    model = onnx.parser.parse_model(f"{head} strings (int64[n] x) => {text}")
    for i, texts in enumerate(constants):
        model.graph.initializer.append(numpy_helper.from_array(np.array(texts, object), f"c{i}"))
    return model


def test_strings_are_chosen_and_compared(rng: np.random.Generator) -> None:
    """The model has two lists that share strings, of which a program holds the numbers."""
    model = of_strings(
        """(string[n] y, bool[n] equal, float[n] number) {
            a = ai.onnx.ml.ArrayFeatureExtractor (c0, x)
            one = Constant <value_ints = [-1]> ()
            left = Reshape (a, one)
            right = Gather (c1, x)
            equal = Equal (left, right)
            chosen = Where (equal, left, c2)
            y = ai.onnx.ml.LabelEncoder
                <keys_strings = ["p", "q"], values_strings = ["t", "p"]> (chosen)
            number = ai.onnx.ml.LabelEncoder
                <keys_strings = ["r", "q"], values_floats = [0.5, 2.0], default_float = 7.0> (right)
        }""",
        ["p", "q", "r", "s"],
        ["p", "r", "q", "s"],
        ["q"],
    )
    x = rng.integers(0, 4, 7)
    x[:2] = 0, 1
    with pytest.warns(UserWarning, match="'y' has strings") as caught:
        found = glow.compile(model, backend="interpreter")(x)
    listed = literal_eval(str(caught[0].message).split(" on, in ")[1])
    wanted: Any = session(model).run(None, {"x": x})
    assert [listed[i] for i in found[0]] == list(wanted[0])
    np.testing.assert_array_equal(found[1], wanted[1])
    np.testing.assert_array_equal(found[2], wanted[2])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("(float[n] y) { s = Gather (c0, x) y = Cast <to = 1> (s) }", "a conversion of strings"),
        ("(string[m] y) { s = Gather (c0, x) y = Unique (s) }", "have to be sorted"),
        (
            "(string[m] y) { s = Gather (c0, x) z = ReduceSum (x) y = Expand (s, z) }",
            "'s' has strings",
        ),
        (
            """(string[m] y) {
                s = Gather (c0, x)
                yes = Greater (x, x)
                any = ReduceMax <keepdims = 0> (x)
                if = Cast <to = 9> (any)
                y = If (if) <
                    then_branch = a () => (string[m] t) { t = Identity (s) },
                    else_branch = b () => (string[m] e) { e = Gather (c1, x) }
                >
            }""",
            "'s' has strings",
        ),
    ],
)
def test_numbers_of_strings_do_not_count_as_numbers(text: str, problem: str) -> None:
    with pytest.raises(UnsupportedError, match=problem):
        # so many numbers do not decide shapes
        glow.compile(of_strings(text, ["3", "2"], ["4", "5"]), symbols={"n": 5000})


def exported(name: str, rng: np.random.Generator) -> tuple[onnx.ModelProto, np.ndarray]:
    """Returns a model that scikit-learn fitted to random data, and further data."""
    skl2onnx = pytest.importorskip("skl2onnx")
    # every process of a run collects this file, and scikit-learn takes seconds to import
    from sklearn import (
        decomposition,
        ensemble,
        linear_model,
        naive_bayes,
        neighbors,
        pipeline,
        preprocessing,
        svm,
    )

    scaled = preprocessing.StandardScaler(), decomposition.PCA(4)
    x = rng.standard_normal((200, 6)).astype(np.float32)
    classes = (x[:, 0] > 0).astype(np.int64) + (x[:, 1] + x[:, 2] > 0.5)
    state = int(rng.integers(2**32))
    models: dict[str, Any] = {
        "logistic regression": linear_model.LogisticRegression(),
        "forest": ensemble.RandomForestClassifier(10, random_state=state),
        "forest regression": ensemble.RandomForestRegressor(10, random_state=state),
        "boosting": ensemble.GradientBoostingClassifier(n_estimators=5, random_state=state),
        "scaler, PCA, SVM": pipeline.make_pipeline(*scaled, svm.SVC()),
        "SVM": svm.SVC(probability=True, random_state=state),  # pyright: ignore[reportArgumentType]
        "SVM regression": svm.SVR(kernel="poly"),
        "naive Bayes": naive_bayes.GaussianNB(),
        "neighbours": neighbors.KNeighborsClassifier(),
    }
    model = models[name]
    wanted = x[:, 0] + x[:, 1] ** 2 if name.endswith("regression") else classes
    if name in ("logistic regression", "SVM"):
        wanted = classes % 2
    model.fit(x, wanted)
    options = {"zipmap": False} if hasattr(model, "classes_") else None
    made = skl2onnx.to_onnx(model, x[:1], options=options, target_opset={"": 18, ML: 3})
    return made, rng.standard_normal((29, 6)).astype(np.float32)


@pytest.mark.parametrize(
    "name",
    [
        *("logistic regression", "forest", "forest regression", "boosting", "scaler, PCA, SVM"),
        *("SVM", "SVM regression", "naive Bayes", "neighbours"),
    ],
)
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_scikit_learn(rng: np.random.Generator, name: str) -> None:
    same(*exported(name, rng))
