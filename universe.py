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
from importlib.metadata import entry_points
from typing import Any

from xdsl.universe import Universe

from .errors import GlowError, described

PACKAGE = __package__ or "glow"

DIALECTS = {
    "glow": "glow_dialects.glow:GLOW",
    "glow_cpu": "glow_dialects.glow_cpu:GLOW_CPU",
    "glow_inst": "glow_dialects.glow_inst:GLOW_INST",
    "glow_nest": "glow_dialects.glow_nest:GLOW_NEST",
    "glow_vec": "glow_dialects.glow_vec:GLOW_VEC",
    "quant": "glow_dialects.quant:QUANT",
    "vta": "glow_dialects.vta:VTA",
}

_GRAPH, _INSTRUCTIONS, _PARTITION = "passes.graph.", "passes.instructions.", "passes.partition."
_KERNELS = "lowering.kernels."

PASSES = {
    # the kinds of modules
    "glow-set-machine": "lowering.set_machine:SetMachinePass",
    # graph
    "glow-bind-symbols": _GRAPH + "bind_symbols:BindSymbolsPass",
    "glow-fold-constants": _GRAPH + "fold_constants:FoldConstantsPass",
    "glow-activations-to-u8": _GRAPH + "activations_to_u8:ActivationsToU8Pass",
    "glow-legalize-quantized": _GRAPH + "legalize_quantized:LegalizeQuantizedPass",
    "glow-fold-batch-norm": _GRAPH + "fold_batch_norm:FoldBatchNormPass",
    "glow-sink-transposes": _GRAPH + "sink_transposes:SinkTransposesPass",
    "glow-simplify-shapes": _GRAPH + "simplify_shapes:SimplifyShapesPass",
    "glow-fuse-operators": _GRAPH + "fuse_operators:FuseOperatorsPass",
    "glow-fuse-attention": _GRAPH + "fuse_attention:FuseAttentionPass",
    "glow-widen-products": _GRAPH + "widen_products:WidenProductsPass",
    "glow-merge-branches": _GRAPH + "merge_branches:MergeBranchesPass",
    "glow-merge-products": _GRAPH + "merge_products:MergeProductsPass",
    "glow-fuse-pooling": _GRAPH + "fuse_pooling:FusePoolingPass",
    "glow-profile": _GRAPH + "profile:ProfilePass",
    "glow-quantize": "quantization.quantize:QuantizePass",
    "glow-quantize-weights": "quantization.weights:QuantizeWeightsPass",
    "glow-convert-to": _GRAPH + "convert_to:ConvertToPass",
    "glow-differentiate": _GRAPH + "differentiate:DifferentiatePass",
    "glow-lower-nodes": _GRAPH + "lower_nodes:LowerNodesPass",
    "glow-assign-layouts": _GRAPH + "assign_layouts:AssignLayoutsPass",
    "glow-skip-padding": _GRAPH + "skip_padding:SkipPaddingPass",
    "glow-use-lookup-tables": _GRAPH + "use_lookup_tables:UseLookupTablesPass",
    "glow-split-pooling": _GRAPH + "split_pooling:SplitPoolingPass",
    "glow-choose-convolutions": _GRAPH + "choose_convolutions:ChooseConvolutionsPass",
    "glow-pack-weights": _GRAPH + "pack_weights:PackWeightsPass",
    "glow-demote-products-to-bf16": _GRAPH + "demote_products_to_bf16:DemoteProductsToBf16Pass",
    "glow-schedule-nodes": _GRAPH + "schedule_nodes:ScheduleNodesPass",
    "glow-rematerialize": _GRAPH + "rematerialize:RematerializePass",
    "glow-tile-batch": _GRAPH + "tile_batch:TileBatchPass",
    "glow-limit-rows": _GRAPH + "limit_rows:LimitRowsPass",
    "glow-loop-batch": _GRAPH + "loop_batch:LoopBatchPass",
    "glow-partition": _PARTITION + "partition:PartitionPass",
    "glow-verify-partitions": _PARTITION + "verify_partitions:VerifyPartitionsPass",
    "glow-inline-partitions": _PARTITION + "inline_partitions:InlinePartitionsPass",
    # graph to instructions
    "glow-irgen": "lowering.irgen:IRGenPass",
    # instructions
    "glow-verify-memory": _INSTRUCTIONS + "verify_memory:VerifyMemoryPass",
    "glow-eliminate-copies": _INSTRUCTIONS + "eliminate_copies:EliminateCopiesPass",
    "glow-eliminate-dead-stores": _INSTRUCTIONS + "eliminate_dead_stores:EliminateDeadStoresPass",
    "glow-hoist-padding-fills": _INSTRUCTIONS + "hoist_padding_fills:HoistPaddingFillsPass",
    "glow-share-bodies": _INSTRUCTIONS + "share_bodies:ShareBodiesPass",
    "glow-share-buffers": _INSTRUCTIONS + "share_buffers:ShareBuffersPass",
    "glow-stack-ops": _INSTRUCTIONS + "stack_ops:StackOpsPass",
    "glow-allocate": _INSTRUCTIONS + "allocate:AllocatePass",
    # programs for an accelerator
    "glow-prepare-for-vta": "lowering.vta.prepare:PrepareForVtaPass",
    "glow-form-vta-layers": "lowering.vta.form_layers:FormVtaLayersPass",
    "glow-tile-vta-layers": "lowering.vta.tile:TileVtaLayersPass",
    "glow-lower-to-vta": "lowering.vta.lower:LowerToVtaPass",
    "glow-verify-vta-design": "passes.vta.verify_vta_design:VerifyVtaDesignPass",
    "glow-verify-vta-tokens": "passes.vta.verify_vta_tokens:VerifyVtaTokensPass",
    # instructions to machine code
    "glow-build-nests": _KERNELS + "build_nests:BuildNestsPass",
    "glow-split-reductions": _KERNELS + "split_reductions:SplitReductionsPass",
    "glow-schedule-nests": _KERNELS + "schedule_nests:ScheduleNestsPass",
    "glow-divide-nests": _KERNELS + "divide_nests:DivideNestsPass",
    "glow-generate-loops": _KERNELS + "generate_loops:GenerateLoopsPass",
    "glow-instrument-kernels": "lowering.instrument_kernels:InstrumentKernelsPass",
    "glow-report-outputs": "lowering.report_outputs:ReportOutputsPass",
    "glow-sanitize": "lowering.sanitize:SanitizePass",
    "glow-expand-math": "lowering.expand_math:ExpandMathPass",
    "glow-convert-to-llvm": "lowering.llvm.convert:ConvertToLLVMPass",
}

TARGETS = {
    "glow-onnx": "frontend.onnx.export.target:OnnxTarget",
    "glow-llvm-ir": "lowering.llvm.translate:LLVMIRTarget",
    "glow-vta-asm": "lowering.vta.asm:VtaAssemblyTarget",
    "glow-vta-binary": "runtime.vta.target:VtaBinaryTarget",
}


CANONICALIZATION = _GRAPH + "canonicalization"
"""The modules that give nodes their canonicalization patterns when they are imported."""


def _loader(path: str) -> Callable[[], Any]:
    module, name = path.split(":")
    return lambda: getattr(import_module(f"{PACKAGE}.{module}"), name)


def _with_patterns(load: Callable[[], Any]) -> Callable[[], Any]:
    """Returns a loader after which nodes have their canonicalization patterns."""

    def loaded() -> Any:
        import_module(f"{PACKAGE}.{CANONICALIZATION}")
        return load()

    return loaded


UNIVERSE = Universe(
    # with its patterns, because xDSL's own tools load `canonicalize` by themselves
    all_dialects={
        **{name: _loader(path) for name, path in DIALECTS.items()},
        "glow": _with_patterns(_loader(DIALECTS["glow"])),
    },
    all_passes={name: _loader(path) for name, path in PASSES.items()},
    all_targets={name: _loader(path) for name, path in TARGETS.items()},
)


def multiverse() -> Universe:
    """
    Returns the dialects, passes and targets of this package and of all that are installed beside
    it. Raises GlowError if one cannot be loaded.

    To find them, the metadata of all packages is read, which takes as long as to compile a small
    network; so that is done once for each search path of modules.
    """
    return _multiverse(tuple(sys.path))


@lru_cache(maxsize=8)
def _multiverse(search_path: tuple[str, ...]) -> Universe:
    try:
        found = Universe.get_multiverse()
    except Exception as error:  # code of other packages
        if (unloadable := _unloadable()) is not None:
            raise unloadable from error
        raise
    # a graph may have been built without its dialect being loaded
    passes = found.all_passes.items()
    canonicalize = {n: _with_patterns(load) for n, load in passes if n == "canonicalize"}
    return Universe(
        all_dialects={**found.all_dialects, **UNIVERSE.all_dialects},
        all_passes={**found.all_passes, **UNIVERSE.all_passes, **canonicalize},
        all_targets={**found.all_targets, **UNIVERSE.all_targets},
    )


def _unloadable() -> GlowError | None:
    """Returns the error about the first universe that cannot be loaded; None if all can."""
    for entry in entry_points(group="xdsl.universe"):
        try:
            entry.load()
        except Exception as error:
            return GlowError(
                f"cannot load the dialects and passes {entry.name} from {entry.value}: "
                f"{described(error)}"
            )
    return None
