"""Writes the function of a module as an ONNX graph."""

from __future__ import annotations

from collections.abc import Sequence

import onnx
from onnx import ValueInfoProto, helper
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from ....errors import GlowError, UnsupportedError
from ....glow_dialects.glow.base import Node
from ....glow_dialects.glow.control import WithBodies, YieldOp
from ....glow_dialects.interface_attributes import VERDICTS
from ....glow_dialects.operator import element_of, text_of
from ..problems import Unsupported
from .control import info, renamed, write_control
from .writer import EXPORTERS, Writer, code_of

IR_VERSION = 10


def export_onnx(module: ModuleOp) -> onnx.ModelProto:
    """
    Returns the graph of `@main` as an ONNX model that computes the same. Weights are copied into
    it; nodes that no output needs are left out, and results that only say whether others are valid.

    Inputs and outputs have the names in `glow.name`, or those of the values; quantized ones hold
    their stored numbers. Raises GlowError if there is no graph, UnsupportedError with a list of all
    nodes that ONNX has no counterpart of.
    """
    main = _main(module)
    writer = Writer()
    block = main.body.block
    problems = _type_problems(main)
    for i, value in enumerate(block.args):
        writer.names[value] = writer.fresh(_name(main.arg_attrs, i) or f"input{i}")
    shown = _shown(main)
    outputs = [writer.fresh(_name(main.res_attrs, i) or f"output{i}") for i in shown]
    end = block.last_op
    assert isinstance(end, ReturnOp)
    results = [end.operands[i] for i in shown]
    _write_nodes(writer, block, problems, results)
    if problems:
        lines = "".join(f"\n  {p}" for p in dict.fromkeys(problems))
        raise UnsupportedError(f"the graph has what ONNX cannot say:{lines}")
    inputs = [info(value, writer.names[value]) for value in block.args]
    declared = _results(writer, results, outputs)
    graph = helper.make_graph(writer.nodes, _title(main), inputs, declared, writer.initializers)
    return helper.make_model(
        graph,
        producer_name="glow",
        opset_imports=[
            helper.make_opsetid("", writer.opset),
            *(helper.make_opsetid(domain, 1) for domain in sorted(writer.domains)),
        ],
        ir_version=IR_VERSION,
    )


def _shown(main: FuncOp) -> list[int]:
    """Returns the numbers of the results that a caller of the network sees."""
    about = main.res_attrs.data if main.res_attrs is not None else ()
    hidden = {i for i, a in enumerate(about) if any(name in a.data for name in VERDICTS)}
    return [i for i in range(len(main.function_type.outputs)) if i not in hidden]


def _write_nodes(
    writer: Writer, block: Block, problems: list[str], results: Sequence[SSAValue]
) -> None:
    """Writes the nodes of a graph or body that its `results` need."""
    needed = _needed(results)
    for op in block.ops:
        if isinstance(op, WithBodies):
            if op in needed:
                write_control(writer, op, lambda body: _write_body(writer, body, problems))
        elif isinstance(op, Node):
            if op in needed:
                _write(writer, op, problems)
        elif not isinstance(op, ReturnOp | YieldOp):
            problems.append(f"{op.name}: is no node of a graph")


def _write_body(writer: Writer, body: Block, problems: list[str]) -> None:
    end = body.last_op
    _write_nodes(writer, body, problems, () if end is None else end.operands)


def _needed(results: Sequence[SSAValue]) -> set[Operation]:
    """Returns the operations that values need, directly or through others."""
    found: set[Operation] = set()
    pending = [v.owner for v in results]
    while pending:
        op = pending.pop()
        if isinstance(op, Operation) and op not in found:
            found.add(op)
            pending += [v.owner for v in op.operands]
    return found


def _main(module: ModuleOp) -> FuncOp:
    for op in module.body.block.ops:
        if isinstance(op, FuncOp) and op.sym_name.data == "main" and op.body.blocks:
            return op
    raise GlowError("expected a module with a function @main, found none")


def _title(main: FuncOp) -> str:
    title = text_of(main.attributes.get("glow.model"))
    return "main" if title is None else title


def _name(attributes: ArrayAttr[DictionaryAttr] | None, index: int) -> str | None:
    return None if attributes is None else text_of(attributes.data[index].data.get("glow.name"))


def _type_problems(main: FuncOp) -> list[str]:
    """Returns which inputs and outputs have elements that ONNX has no type of."""
    types, problems = main.function_type, list[str]()
    for kind, values in (("input", types.inputs), ("output", types.outputs)):
        for i, t in enumerate(values):
            try:
                code_of(element_of(t))
            except Unsupported as reason:
                problems.append(f"{kind} {i}: {reason}")
    return problems


def _results(
    writer: Writer, values: Sequence[SSAValue], names: Sequence[str]
) -> list[ValueInfoProto]:
    """Returns outputs of the graph: other names for results of nodes."""
    renamed(writer, values, names)
    return [info(value, name) for value, name in zip(values, names, strict=True)]


def _write(writer: Writer, node: Node, problems: list[str]) -> None:
    write = EXPORTERS.get(type(node))
    (result,) = node.results
    try:
        if write is None:
            raise Unsupported("the operator is not supported")
        name = write(writer, node)
        assert name is not None
    except (Unsupported, VerifyException) as reason:
        problems.append(f"{_label(node)}: {reason}")
        name = writer.fresh("unsupported")
    writer.names[result] = name


def _label(op: Operation) -> str:
    hint = op.results[0].name_hint if op.results else None
    return f"{op.name} %{hint}" if hint else op.name
