"""LLVM keeps the sums of products in registers."""

from __future__ import annotations

import re

import llvmlite.binding as binding
import numpy as np
import pytest
from glow.frontend.onnx import import_onnx
from glow.lowering.llvm.translate import translate_module
from glow.lowering.target import Target
from glow.runtime.cpu_backend import CpuBackend
from glow.runtime.stages import Stages
from onnx import ModelProto, TensorProto, helper, numpy_helper

TERMS, COLUMNS = 384, 1536


def product_and_gelu(rows: int, rng: np.random.Generator) -> ModelProto:
    weights = rng.standard_normal((TERMS, COLUMNS), np.float32)
    bias = rng.standard_normal(COLUMNS, np.float32)
    x, y = (
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [rows, size])
        for name, size in (("x", TERMS), ("y", COLUMNS))
    )
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["product"]),
        helper.make_node("Add", ["product", "b"], ["sum"]),
        helper.make_node("Gelu", ["sum"], ["y"]),
    ]
    constants = [numpy_helper.from_array(weights, "w"), numpy_helper.from_array(bias, "b")]
    graph = helper.make_graph(nodes, "g", [x], [y], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def assembly(text: str, target: Target) -> str:
    module, generator = binding.parse_assembly(text), target.create()
    module.triple, module.data_layout = target.triple, str(generator.target_data)
    passes = binding.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    options = binding.create_pipeline_tuning_options(speed_level=0)
    passes.run(module, binding.create_pass_builder(generator, options))
    return generator.emit_assembly(module)


@pytest.mark.parametrize("rows", [6, 7, 8])
def test_sums_beside_constants_of_another_nest(rows: int, rng: np.random.Generator):
    """
    The constants of GELU are needed in deeper loops than the sums of products, but less often.
    """
    backend = CpuBackend(
        cache=False, target_cpu="x86-64-v4", target_triple="x86_64-unknown-linux-gnu", threads=1
    )
    graph = import_onnx(product_and_gelu(rows, rng))
    llvm = Stages(graph, backend.stages(), False)["llvm"]
    text = assembly(translate_module(llvm), backend.target())
    # of what is between a label and a jump, the loop of the product has most multiplications
    parts = re.split(r"^\.L[\w$]+:", text, flags=re.MULTILINE)
    loops = [part[: part.find("\n\tj")] for part in parts]
    loop = max(loops, key=lambda lines: lines.count("vfmadd231"))
    assert loop.count("vfmadd231") >= rows
    assert "rsp" not in loop
