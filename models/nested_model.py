"""A network whose inputs or outputs are sequences or optional values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ..errors import GlowError, InputError
from ..interface.backend import Backend
from ..interface.destinations import Outputs
from ..interface.signature import Signature, TensorInfo
from .compiled_model import CompiledModel, ProgramCall
from .programs_by_form import ProgramsByForm, Value
from .specialization import SpecializedModel


class NestedModel(SpecializedModel):
    """
    A network some of whose inputs or outputs are sequences (lists of arrays) or optional values
    (arrays, lists or None).

    Its programs are made when they are first needed, each for the lengths and shapes of its inputs,
    and for the set of inputs that are None. The inputs and outputs of programs are tensors.
    """

    def __init__(
        self,
        backend: Backend,
        signature: Signature,
        part_name: Callable[[str, int], str],
        compile: Callable[[Mapping[str, Value], Mapping[str, np.ndarray]], CompiledModel],
        limit: int,
    ):
        """
        `part_name` names the elements of sequences, and `compile` makes the model for inputs like
        the given ones, and for values of some of these; at most `limit` models are kept.
        """
        self._part_name = part_name
        self._programs = ProgramsByForm(compile, limit)
        self._kept = self._programs.kept
        # `run` has programs of its own
        super().__init__(backend, _NoProgram(), signature)

    def __call__(self, /, *args: object, **kwargs: object) -> list[np.ndarray]:
        """Runs the network on its inputs, by position or by name, as `run` does."""
        return self.run(None, self._signature.bind(args, kwargs))

    def run(
        self, output_names: Sequence[str] | None, input_feed: Mapping[str, object]
    ) -> list[np.ndarray]:
        """
        Runs the network; see `CompiledModel.run`. Sequences are lists of arrays, and optional
        values may be None or missing.
        """
        wanted = self._signature.select(output_names)
        model, parts = self._for_values(self._values(input_feed))
        names = [info.name for info in model.get_outputs()]
        found = dict(zip(names, model.run(None, parts), strict=True))
        results = [self._joined(info, found) for info in self._signature.outputs]
        return [results[i] for i in wanted]  # pyright: ignore[reportReturnType]

    def _for_values(
        self, values: Mapping[str, Value]
    ) -> tuple[CompiledModel, dict[str, np.ndarray]]:
        """Returns the model for values of all inputs, and its inputs."""
        parts = self._parts(values)
        return self._programs.for_inputs(values, parts), parts

    def program_calls(self, inputs: Sequence[Value]) -> list[ProgramCall]:
        names = [info.name for info in self._signature.inputs]
        model, parts = self._for_values(dict(zip(names, inputs, strict=True)))
        return model.program_calls(model.arrays(parts))

    def arrays(self, input_feed: Mapping[str, object]) -> list[Value]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return list(self._values(input_feed).values())

    def run_into(self, outputs: Outputs, input_feed: Mapping[str, object]) -> None:
        """Raises GlowError: lists of arrays have no memory that a caller could own."""
        raise GlowError("run_into needs a model whose inputs and outputs are arrays: use run")

    def _values(self, feed: Mapping[str, object]) -> dict[str, Value]:
        """Returns the values of all inputs. Raises InputError, as `Signature.arrays` does."""
        inputs = self._signature.inputs
        nothing = {info.name: None for info in inputs if info.is_optional}
        self._signature.expect_names({**nothing, **feed} if isinstance(feed, Mapping) else feed)
        return {info.name: self._value(info, feed.get(info.name)) for info in inputs}

    def _value(self, info: TensorInfo, value: object) -> Value:
        if info.is_optional and value is None:
            return None
        if not info.is_sequence:
            return _array(info.name, value, info)
        if not isinstance(value, list | tuple):
            raise InputError(
                f"input {info.name!r}: expected a list of arrays, found {type(value).__name__}"
            )
        return [_array(self._part_name(info.name, i), v, info) for i, v in enumerate(value)]

    def _parts(self, values: Mapping[str, Value]) -> dict[str, np.ndarray]:
        """Returns all arrays, by the names that the inputs of a program have."""
        found: dict[str, np.ndarray] = {}
        for name, value in values.items():
            if isinstance(value, np.ndarray):
                found[name] = value
            elif value is not None:
                found |= {self._part_name(name, i): part for i, part in enumerate(value)}
        return found

    def _joined(self, info: TensorInfo, found: Mapping[str, np.ndarray]) -> Value:
        """Returns an output from those of a program."""
        if info.name in found:
            return found[info.name]
        parts: list[np.ndarray] = []
        while (name := self._part_name(info.name, len(parts))) in found:
            parts.append(found[name])
        return parts if parts or info.is_sequence else None

    @property
    def from_cache(self) -> bool:
        """Whether nothing was compiled: never, since the model is read to be flattened."""
        return False

    def _only(self, what: str) -> CompiledModel:
        found = self._kept.values()
        if len(found) != 1:
            raise GlowError(
                f"{what} is that of one specialization, and there are {len(found)}: use "
                f"model.specializations[0].{what}"
            )
        return found[0]


class _NoProgram:
    """The program of a model that has one for each form of its inputs."""

    def run(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        raise GlowError("a model of sequences has a program for each of its specializations")


def _array(name: str, value: object, info: TensorInfo) -> np.ndarray:
    """Returns a value as an array of the dtype of an input. Raises InputError."""
    shape = list(info.shape)
    if info.is_sequence or info.is_optional:
        try:
            shape = list(np.asarray(value).shape)
        except ValueError as error:
            raise InputError(f"input {name!r}: expected an array, found none: {error}") from None
    (array,) = Signature((TensorInfo(name, shape, info.dtype),), ()).arrays({name: value})
    return array
