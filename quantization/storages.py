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
    """Returns the value that a value rearranges, or the value itself: both have one type."""
    while (source := moved(value)) is not None:
        value = source
    return value


def chosen_storages(
    nodes: Iterable[Node], names: Mapping[SSAValue, str], options: Quantization
) -> dict[SSAValue, str]:
    """
    Returns the storage for each value that a product with a storage of its own reads; if several
    do, the widest. The key is the value that is rearranged. Raises QuantizationError for unknown
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
    Returns the schema of activations. Wider storage than that of the others has no zero point: then
    i32 holds sums of twice as many products of 16 bits, and there are enough levels.
    """
    wider = _bits(storage) > _bits(options.activations)
    return "symmetric" if wider and options.schema == "asymmetric" else options.schema


def _bits(storage: str) -> int:
    return storage_of(storage).width.data
