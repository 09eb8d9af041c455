"""Observation of values. It is no node: it computes nothing, and is never removed as unused."""

from __future__ import annotations

from xdsl.dialects.builtin import StringAttr, TensorType
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    prop_def,
    traits_def,
)
from xdsl.traits import MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from ..elements import is_float
from ..operator import element_of


@irdl_op_definition
class ProfileOp(IRDLOperation):
    """
    Counts the numbers of a tensor in the histogram of a profile.

    `value` is the name of the value, `key` and `local_key` are hashes of how it is computed; see
    `passes/graph/value_keys.py`. Programs have no instruction for it: `glow-profile{as-outputs=true}`
    makes results of the profiled values instead.

    ```mlir
    glow.profile %conv0 {value = "conv0", operator = "glow.convolution", key = "2af4d2b90db35a44", local_key = "08d2c1e3ab5f6071"} : tensor<1x16x8x8xf32>
    ```
    """  # noqa: E501

    name = "glow.profile"

    input = operand_def(TensorType)
    value = prop_def(StringAttr)
    operator = prop_def(StringAttr)
    key = prop_def(StringAttr)
    local_key = prop_def(StringAttr)

    traits = traits_def(MemoryWriteEffect())
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$input attr-dict `:` type($input)"

    def verify_(self) -> None:
        if not is_float(element_of(self.input.type)):
            raise VerifyException(f"expected float elements, found {self.input.type}")
