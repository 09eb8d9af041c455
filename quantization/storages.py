"""The storage of the activations of single products, where it is chosen for each product."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from xdsl.ir import SSAValue

from ..errors import QuantizationError
from ..glow_dialects.glow.base import Node
from .options import Quantization
from .roles import moved, roles_of
from .schemas import storage_of


def origin(value: SSAValue) -> SSAValue:
    """What a value is a rearrangement of, itself if it is none: both have one type."""
    while (source := moved(value)) is not None:
        value = source
    return value


def chosen_storages(
    nodes: Iterable[Node], names: Mapping[SSAValue, str], options: Quantization
) -> dict[SSAValue, str]:
    """
    Returns the storage for each value (that others may be rearrangements of) which a product with a
    choice of its own reads; the widest, if several do. Raises QuantizationError for unknown
    products.
    """
    choices = options.product_storages()
    found: dict[SSAValue, str] = {}
    if not choices:
        return found
    known: set[str] = set()
    for node in nodes:
        roles = roles_of(node)
        if roles is None:
            continue
        name = names[node.results[0]]
        known.add(name)
        storage = choices.get(name, options.activations)
        for i in roles.activations:
            value = origin(node.operands[i])
            found[value] = max(storage, found.get(value, storage), key=_bits)
    if unknown := [name for name in choices if name not in known]:
        raise QuantizationError(
            f"cannot choose how {', '.join(unknown)} is stored: no product is called so; there is: "
            f"{', '.join(sorted(known))}"
        )
    return found


def schema_for(storage: str, options: Quantization) -> str:
    """
    Returns the schema of activations. Those that are wider than the others have no zero point: sums
    of products of 16 bits fit into i32 for twice as many then, and there are levels enough.
    """
    wider = _bits(storage) > _bits(options.activations)
    return "symmetric" if wider and options.schema == "asymmetric" else options.schema


def _bits(storage: str) -> int:
    return storage_of(storage).width.data
