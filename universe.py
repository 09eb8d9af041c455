"""
Everything that xDSL's tools discover: dialects, passes and targets, loaded when first used.

Pass names carry the prefix `glow-`, because names must be unique among all installed packages;
`glow-opt` also accepts them without it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from typing import Any

from xdsl.universe import Universe

PACKAGE = __package__ or "glow"

DIALECTS = {
    "glow": "glow_dialects.glow:GLOW",
    "glow_inst": "glow_dialects.glow_inst:GLOW_INST",
    "glow_vec": "glow_dialects.glow_vec:GLOW_VEC",
    "quant": "glow_dialects.quant:QUANT",
    "vta": "glow_dialects.vta:VTA",
}

PASSES = {
    # graph
    "glow-fold-constants": "passes.fold_constants:FoldConstantsPass",
    "glow-unsign-activations": "passes.unsign_activations:UnsignActivationsPass",
    "glow-form-integers": "passes.form_integers:FormIntegersPass",
    "glow-fold-batch-norm": "passes.fold_batch_norm:FoldBatchNormPass",
    "glow-sink-transposes": "passes.sink_transposes:SinkTransposesPass",
    "glow-simplify-shapes": "passes.simplify_shapes:SimplifyShapesPass",
    "glow-fuse-operators": "passes.fuse_operators:FuseOperatorsPass",
    "glow-fuse-attention": "passes.fuse_attention:FuseAttentionPass",
    "glow-fuse-pooling": "passes.fuse_pooling:FusePoolingPass",
    "glow-profile": "passes.profile:ProfilePass",
    "glow-quantize": "quantization.quantize:QuantizePass",
    "glow-convert-to": "passes.convert_to:ConvertToPass",
    "glow-lower-nodes": "passes.lower_nodes:LowerNodesPass",
    "glow-assign-layouts": "passes.assign_layouts:AssignLayoutsPass",
    "glow-choose-convolutions": "passes.choose_convolutions:ChooseConvolutionsPass",
    "glow-pack-weights": "passes.pack_weights:PackWeightsPass",
    "glow-use-bf16": "passes.use_bf16:UseBf16Pass",
    "glow-schedule": "passes.schedule:SchedulePass",
    "glow-split-batch": "passes.split_batch:SplitBatchPass",
    "glow-partition": "passes.partition:PartitionPass",
    "glow-verify-partitions": "passes.verify_partitions:VerifyPartitionsPass",
    "glow-inline-partitions": "passes.inline_partitions:InlinePartitionsPass",
    # graph to instructions
    "glow-irgen": "lowering.irgen:IRGenPass",
    # instructions
    "glow-verify-memory": "passes.verify_memory:VerifyMemoryPass",
    "glow-eliminate-copies": "passes.eliminate_copies:EliminateCopiesPass",
    "glow-eliminate-dead-stores": "passes.eliminate_dead_stores:EliminateDeadStoresPass",
    "glow-share-borders": "passes.share_borders:ShareBordersPass",
    "glow-share-buffers": "passes.share_buffers:ShareBuffersPass",
    "glow-stack-ops": "passes.stack_ops:StackOpsPass",
    "glow-allocate": "passes.allocate:AllocatePass",
    # programs for an accelerator
    "glow-prepare-for-vta": "lowering.vta.prepare:PrepareForVtaPass",
    "glow-lower-to-vta": "lowering.vta.lower:LowerToVtaPass",
    "glow-verify-vta-design": "passes.verify_vta_design:VerifyVtaDesignPass",
    "glow-verify-vta-tokens": "passes.verify_vta_tokens:VerifyVtaTokensPass",
    # instructions to machine code
    "glow-lower-to-kernels": "lowering.kernels.lower:LowerToKernelsPass",
    "glow-time-kernels": "lowering.time_kernels:TimeKernelsPass",
    "glow-expand-math": "lowering.expand_math:ExpandMathPass",
    "glow-convert-to-llvm": "lowering.llvm.convert:ConvertToLLVMPass",
}

TARGETS = {
    "glow-onnx": "frontend.onnx.export.target:OnnxTarget",
    "glow-llvm-ir": "lowering.llvm.translate:LLVMIRTarget",
    "glow-vta-asm": "lowering.vta.asm:VtaAssemblyTarget",
    "glow-vta-binary": "runtime.vta.target:VtaBinaryTarget",
}


def _loader(path: str) -> Callable[[], Any]:
    module, name = path.split(":")
    return lambda: getattr(import_module(f"{PACKAGE}.{module}"), name)


UNIVERSE = Universe(
    all_dialects={name: _loader(path) for name, path in DIALECTS.items()},
    all_passes={name: _loader(path) for name, path in PASSES.items()},
    all_targets={name: _loader(path) for name, path in TARGETS.items()},
)


def multiverse() -> Universe:
    """
    The dialects, passes and targets of this package and of all that are installed beside it.

    To find them, the metadata of all packages is read, which takes as long as to compile a small
    network; so that is done once for each search path of modules.
    """
    return _multiverse(tuple(sys.path))


@lru_cache(maxsize=8)
def _multiverse(search_path: tuple[str, ...]) -> Universe:
    found = Universe.get_multiverse()
    return Universe(
        all_dialects={**found.all_dialects, **UNIVERSE.all_dialects},
        all_passes={**found.all_passes, **UNIVERSE.all_passes},
        all_targets={**found.all_targets, **UNIVERSE.all_targets},
    )
