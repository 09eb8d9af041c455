"""
Results that depend on an attribute, found by the attribute's identity.

Attributes are equal by value, and to hash one takes longer than most of what is asked about it: a
vector type has a shape, whose sizes are attributes in turn. Generated code has few attributes, each
of which thousands of operations share.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import lru_cache, wraps
from typing import Concatenate, ParamSpec, TypeVar

from xdsl.ir import Attribute

A = TypeVar("A", bound=Attribute | None)
P = ParamSpec("P")
R = TypeVar("R")

LARGEST = 1 << 14
"""The most entries of a cache. It forgets all identities when it has so many."""


def cached_by_identity(
    function: Callable[Concatenate[A, P], R],
) -> Callable[Concatenate[A, P], R]:
    """
    Returns a function that computes each result once for equal arguments, and finds it by the
    identity of the first. The other arguments are hashable.
    """
    of_equal = lru_cache(LARGEST)(function)
    # an entry holds its attribute, so that no other one gets the identity
    found: dict[Hashable, tuple[A, R]] = {}

    @wraps(function)
    def cached(attribute: A, *rest: P.args, **named: P.kwargs) -> R:
        # most functions have one argument, and a number is a key much sooner than a tuple
        key = (id(attribute), *rest, *named.items()) if rest or named else id(attribute)
        entry = found.get(key)
        if entry is None:
            if len(found) >= LARGEST:
                found.clear()
            entry = found[key] = attribute, of_equal(attribute, *rest, **named)
        return entry[1]

    return cached
