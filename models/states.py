"""
Inputs that keep their values between calls, by the names and patterns that a caller gives.

`glow.compile(..., states={"past_*": "present_*"})` names inputs with the outputs that are their
next values; a `*` stands for the same text in both. A model with states has sessions
(`glow.models.session`). An output may be its input with new rows behind it, as caches of keys and
values are: then the model is a `glow.models.cached_model.CachedModel`, whose sessions keep the rows
in place. Their memory has one of the numbers of rows that the option `buckets` lists, by default a
power of two.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from ..errors import GlowError
from ..interface.signature import Signature
from ..wording import did_you_mean


def matched_states(states: Mapping[str, str], signature: Signature) -> dict[str, str]:
    """
    Returns inputs with the outputs that are their next values. A `*` in a pair of names stands for
    the same text in both. Raises GlowError for names that do not exist, and for patterns that match
    nothing.
    """
    if not isinstance(states, Mapping) or not all(  # pyright: ignore[reportUnnecessaryIsInstance]
        isinstance(name, str)  # pyright: ignore[reportUnnecessaryIsInstance]
        for pair in states.items()
        for name in pair
    ):
        raise GlowError(
            "states: expected names of inputs with those of outputs, such as "
            f'{{"past_*": "present_*"}}, found {states!r}'
        )
    inputs = {info.name: info for info in signature.inputs}
    outputs = {info.name: info for info in signature.outputs}
    found: dict[str, str] = {}
    for past, present in states.items():
        if past.count("*") > 1 or past.count("*") != present.count("*"):
            raise GlowError(
                f"states: expected two names with one `*` each, or none, found {past!r} and "
                f"{present!r}"
            )
        pattern = re.escape(past).replace(r"\*", "(.*)")
        matches = {name: match for name in inputs if (match := re.fullmatch(pattern, name))}
        if not matches:
            raise GlowError(f"states: no input is called {past!r}{did_you_mean(past, inputs)}")
        for name, match in matches.items():
            result = present.replace("*", match.group(1)) if "*" in present else present
            if result not in outputs:
                near = did_you_mean(result, outputs)
                raise GlowError(f"states: no output is called {result!r}, for {name!r}{near}")
            if inputs[name].dtype != outputs[result].dtype:
                raise GlowError(
                    f"states: expected a next value of the same type, but {name!r} is "
                    f"{inputs[name]}, and {result!r} is {outputs[result]}"
                )
            found[name] = result
    if len(set(found.values())) != len(found):
        raise GlowError("states: expected another output for each input")
    return found


def with_states(signature: Signature, pairs: Mapping[str, str]) -> Signature:
    """Returns a signature whose inputs `pairs` are states."""
    number = {info.name: o for o, info in enumerate(signature.outputs)}
    inputs = [
        replace(info, state=number[pairs[info.name]]) if info.name in pairs else info
        for info in signature.inputs
    ]
    return Signature(tuple(inputs), signature.outputs)


def have_rows(signature: Signature, pairs: Mapping[str, str]) -> bool:
    """
    Returns whether states are caches: a symbol of their inputs is that of no other input, so it is
    the number of their rows.
    """
    kept = {d for i in signature.inputs if i.name in pairs for d in i.shape if isinstance(d, str)}
    return bool(kept - {d for i in signature.inputs if i.name not in pairs for d in i.shape})
