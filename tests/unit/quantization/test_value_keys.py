"""Names and keys of values: what they depend on, and what not."""

from __future__ import annotations

from glow.passes.graph.value_keys import ValueKey, profiled_values, value_keys
from glow.runtime.signature import main_function
from glow.tests.support.graph_text import parse

TEXT = """
func.func @main(%x: tensor<{n}x3x8x8xf32> {{glow.name = "x"}}) -> tensor<{n}x5x8x8xf32> {{
  %w = glow.constant dense<{weight}> : tensor<5x3x3x3xf32>
  %b = glow.splat value 0.5 : tensor<5xf32>
  {before}
  %conv = glow.convolution %{input}, %w, %b pads [{pad}, 1, 1, 1] : (tensor<{n}x3x8x8xf32>, tensor<5x3x3x3xf32>, tensor<5xf32>) -> tensor<{n}x5x8x8xf32>
  %{name} = glow.relu %conv : (tensor<{n}x5x8x8xf32>) -> tensor<{n}x5x8x8xf32>
  func.return %{name} : tensor<{n}x5x8x8xf32>
}}
"""  # noqa: E501
DEFAULTS = {"n": 1, "weight": 1.0, "before": "", "input": "x", "pad": 1, "name": "relu"}


def keys(text: str = TEXT, **changes: object) -> dict[str, ValueKey]:
    module = parse(text.format(**{**DEFAULTS, **changes}) if text is TEXT else text)
    return {k.name: k for k in value_keys(main_function(module)).values()}


def test_batch_size_and_weights_do_not_matter() -> None:
    assert keys() == keys(n=7, weight=2.5)


def test_operators_that_are_not_before_do_not_matter() -> None:
    other = "%other = glow.exp %x : (tensor<1x3x8x8xf32>) -> tensor<1x3x8x8xf32>"
    assert keys().items() <= keys(before=other).items()


def test_names_do_not_matter_for_keys() -> None:
    assert keys()["relu"].key == keys(name="other")["other"].key


def test_properties_matter() -> None:
    valid = TEXT.replace("{n}x5x8x8", "1x5x9x8").replace("{n}", "1")
    changed = parse(valid.format(**{**DEFAULTS, "pad": 2}))
    found = {k.name: k for k in value_keys(main_function(changed)).values()}
    assert found["conv"].key != keys()["conv"].key
    assert found["conv"].local_key != keys()["conv"].local_key
    assert found["relu"].key != keys()["relu"].key
    assert found["relu"].local_key == keys()["relu"].local_key


def test_local_keys_do_not_depend_on_what_is_before() -> None:
    before = "%new = glow.exp %x : (tensor<1x3x8x8xf32>) -> tensor<1x3x8x8xf32>"
    plain, changed = keys(), keys(before=before, input="new")
    for name in ("conv", "relu"):
        assert plain[name].key != changed[name].key
        assert plain[name].local_key == changed[name].local_key


def test_a_constant_that_is_broadcast_to_the_batch_is_the_same() -> None:
    def network(n: int, c: str) -> str:
        return f"""
        func.func @main(%x: tensor<{n}x3xf32> {{glow.name = "x"}}) -> tensor<{n}x3xf32> {{
          {c}
          %y = glow.add %x, %c : (tensor<{n}x3xf32>, tensor<{n}x3xf32>) -> tensor<{n}x3xf32>
          func.return %y : tensor<{n}x3xf32>
        }}"""

    one = keys(network(1, "%c = glow.constant dense<[[1.0, 2.0, 3.0]]> : tensor<1x3xf32>"))
    many = keys(
        network(
            4,
            "%k = glow.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>\n"
            "%c = glow.broadcast %k : (tensor<3xf32>) -> tensor<4x3xf32>",
        )
    )
    assert one["y"] == many["y"]


def test_slices_that_take_the_whole_batch_are_the_same() -> None:
    def network(n: int, size: int) -> str:
        return f"""
        func.func @main(%x: tensor<{n}x6xf32> {{glow.name = "x"}}) -> tensor<{n}x{size}xf32> {{
          %y = glow.slice %x starts [0, 1] sizes [{n}, {size}] : (tensor<{n}x6xf32>) -> tensor<{n}x{size}xf32>
          func.return %y : tensor<{n}x{size}xf32>
        }}"""  # noqa: E501

    assert keys(network(1, 3)) == keys(network(5, 3))
    assert keys(network(1, 3))["y"].key != keys(network(1, 4))["y"].key


def test_names_are_unique_and_as_printed() -> None:
    module = parse("""
    func.func @main(%x: tensor<4xf32>, %n: tensor<4xi32>) -> tensor<4xf32> {
      %0 = glow.exp %x : (tensor<4xf32>) -> tensor<4xf32>
      %1 = glow.exp %0 : (tensor<4xf32>) -> tensor<4xf32>
      %a = glow.relu %1 : (tensor<4xf32>) -> tensor<4xf32>
      %a_1 = glow.tanh %a : (tensor<4xf32>) -> tensor<4xf32>
      %i = glow.cast %n : (tensor<4xi32>) -> tensor<4xi64>
      func.return %a_1 : tensor<4xf32>
    }""")
    main = main_function(module)
    assert "%a_1 = glow.tanh %a " in str(module)
    assert [k.name for k in value_keys(main).values()] == [
        "x",
        "n",
        "exp",
        "exp_1",
        "a",
        "a_1",
        "i",
    ]
    assert [k.name for k in profiled_values(main).values()] == ["x", "exp", "exp_1", "a", "a_1"]
    assert value_keys(main)[main.body.block.args[0]].operator == "input"


def test_inputs_are_told_apart_by_their_public_names() -> None:
    module = parse("""
    func.func @main(%a: tensor<4xf32> {glow.name = "one"}, %b: tensor<4xf32> {glow.name = "two"}) {
      %x = glow.exp %a : (tensor<4xf32>) -> tensor<4xf32>
      %y = glow.exp %b : (tensor<4xf32>) -> tensor<4xf32>
      func.return
    }""")
    found = {k.name: k for k in value_keys(main_function(module)).values()}
    assert found["x"].key != found["y"].key
    assert found["x"].local_key == found["y"].local_key
