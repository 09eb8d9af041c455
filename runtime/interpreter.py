"""
Runs a network with numpy, operator by operator: the reference for everything else.

Both a graph (`glow`) and an instruction program (`glow_inst`) can run. A value of a graph is freed
after its last use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, TensorType
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from ..errors import CompileError, ModelError
from ..glow_dialects.glow import Node
from ..glow_dialects.glow.constant import ConstantOp
from ..glow_dialects.glow.control import IfOp, LoopOp, YieldOp
from ..glow_dialects.glow.profile import ProfileOp
from ..glow_dialects.glow_inst.memory import QUALIFIER, STATE, argument_attributes
from ..semantics import evaluate, numpy_dtype
from .interpreter_program import run_program
from .signature import is_program, main_function, signature_of

Observer: TypeAlias = Callable[[SSAValue, np.ndarray], None]


def interpret(
    module: ModuleOp,
    inputs: Mapping[str, np.ndarray] | Sequence[np.ndarray],
    observe: Observer | None = None,
) -> dict[str, np.ndarray]:
    """
    Runs the function `main` of a graph or of an instruction program.

    `inputs` are arrays of exactly the declared shapes and dtypes, by name or in order; the result
    maps the names of the outputs to fresh arrays. `observe` sees each value of a graph as it is
    computed (arguments too), or each buffer or view of a program after an instruction has written
    it; it must not keep the array without copying it.

    Raises InputError for wrong inputs, ModelError if the bytes of a constant cannot be read, and
    CompileError for operations that are neither graph nodes nor instructions.
    """
    main = main_function(module)
    _expect_qualifiers(main)
    signature = signature_of(module)
    feed = inputs if isinstance(inputs, Mapping) else signature.bind(inputs, {})
    results = signature.results(execute(main, signature.arrays(feed), observe))
    return {info.name: array for info, array in zip(signature.outputs, results, strict=True)}


def execute(
    main: func.FuncOp, inputs: Sequence[np.ndarray], observe: Observer | None = None
) -> list[np.ndarray]:
    """Returns `interpret` without names, and without a check of the inputs."""
    observe = observe or _ignore
    if not is_program(main):
        return [array.copy() for array in _run_graph(main.body.block, inputs, observe)]
    given = iter(inputs)
    arguments = main.body.block.args
    arrays = [None if _qualifier(a) == "out" else next(given) for a in arguments]
    found = run_program(main, arrays, observe)
    outputs = [x for a, x in zip(arguments, found, strict=True) if _qualifier(a) == "out"]
    states = {
        number.value.data: array
        for a, array in zip(arguments, found, strict=True)
        if isinstance(number := argument_attributes(a).get(STATE), IntegerAttr)
    }
    for number in sorted(states):
        outputs.insert(number, states[number])
    return outputs


def _run_graph(block: Block, arrays: Sequence[np.ndarray], observe: Observer) -> list[np.ndarray]:
    """Returns what the last operation of a block returns or yields."""
    values: dict[SSAValue, np.ndarray] = dict(zip(block.args, arrays, strict=True))
    for value, array in values.items():
        observe(value, array)
    for op, dying in _with_last_uses(list(block.ops)):
        operands = [values[o] for o in op.operands]
        if isinstance(op, func.ReturnOp | YieldOp):
            return operands
        for value, array in zip(op.results, _run_node(op, operands), strict=True):
            values[value] = array
            observe(value, array)
        for value in dying:
            del values[value]
    raise CompileError("expected the function main to end with func.return")


def _run_node(op: Operation, operands: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
    if isinstance(op, ProfileOp):
        return ()  # observers see all values
    if isinstance(op, IfOp):
        condition, *reads = operands
        return _run_graph((op.then if condition else op.otherwise).block, reads, _ignore)
    if isinstance(op, LoopOp):
        return _run_loop(op, operands)
    if not isinstance(op, Node):
        raise CompileError(f"the interpreter runs graph nodes and instructions, found {op.name}")
    if not isinstance(op, ConstantOp):
        return evaluate(op.call, operands)
    try:
        return evaluate(op.call, ())
    except (OSError, ValueError) as error:
        raise ModelError(f"cannot read a constant: {error}") from error


def _run_loop(op: LoopOp, operands: Sequence[np.ndarray]) -> list[np.ndarray]:
    given = iter(operands)
    trips = None if op.trips is None else int(next(given))
    going = op.going is None or bool(next(given))
    carried = [next(given) for _ in op.carried]
    reads, body, step = list(given), op.body.block, 0
    stacked: list[np.ndarray] = []
    for value in op.stacked:
        assert isinstance(value.type, TensorType)
        # floats without a 0 become what 0 is converted to, which bytes of 0 are not
        zeros = np.zeros(value.type.get_shape())
        stacked.append(zeros.astype(numpy_dtype(value.type.element_type)))
    limit = op.most if trips is None else min(trips, op.most)
    while going and step < limit:
        results = _run_graph(body, [np.array(step, np.int64), *carried, *reads], _ignore)
        if op.going is not None:
            going, *results = bool(results[0]), *results[1:]
        carried, rows = results[: len(carried)], results[len(carried) :]
        for whole, row in zip(stacked, rows, strict=True):
            whole[step] = row
        step += 1
    endless = op.trips is None and op.going is None
    unfinished = going and not endless and (trips is None or step < trips)
    return [*carried, *stacked, np.array(step + unfinished, np.int32)]


def _with_last_uses(ops: Sequence[Operation]) -> Iterator[tuple[Operation, list[SSAValue]]]:
    """
    Returns each operation with the values that nothing after it reads: operands, and unused
    results.
    """
    seen: set[SSAValue] = set()
    dying: list[list[SSAValue]] = []
    for op in reversed(ops):
        last = [v for v in dict.fromkeys((*op.operands, *op.results)) if v not in seen]
        seen.update(last)
        dying.append(last)
    return zip(ops, reversed(dying), strict=True)


def _expect_qualifiers(main: func.FuncOp) -> None:
    """Raises CompileError for an argument of an instruction program without a qualifier."""
    if not is_program(main):
        return
    for argument in main.body.block.args:
        if _qualifier(argument) not in ("in", "out", "inout"):
            found = argument_attributes(argument).get(QUALIFIER)
            raise CompileError(
                f'expected argument {argument.index} of main with {QUALIFIER} = "in", "out" or '
                f'"inout", found {found}'
            )


def _qualifier(argument: BlockArgument) -> str | None:
    attribute = argument_attributes(argument).get(QUALIFIER)
    return attribute.data if isinstance(attribute, StringAttr) else None


def _ignore(value: SSAValue, array: np.ndarray) -> None:
    pass
