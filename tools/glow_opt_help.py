"""The text of `glow-opt --help`: passes with their effects and options."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from xdsl.passes import ModulePass

from .opt_arguments import PREFIX

USEFUL = {
    "canonicalize": "Fold constants and apply the simplifications that operations define.",
    "cse": "Compute equal pure expressions once.",
    "dce": "Remove pure operations whose results are not used.",
}
"""xDSL passes that work on our dialects, and so are described as well."""
TEXTS = Path(__file__).with_name("pass_descriptions.json")
"""The descriptions of the passes of this package, which `docs/generate.py` writes."""
USAGE = 'glow-opt [--PASS[="option=value ..."]]... [options] [FILE]'


def described_passes(
    passes: Mapping[str, Callable[[], type[ModulePass]]], targets: Mapping[str, object]
) -> str:
    """Returns the description of passes and targets; imports those of other packages only."""
    texts: dict[str, str] = json.loads(TEXTS.read_text(encoding="utf-8"))
    own = [name for name in passes if name.startswith(PREFIX)]
    useful = [name for name in USEFUL if name in passes]
    names = ", ".join(n.removeprefix(PREFIX) for n in targets if _is_useful(n))
    return "\n".join(
        [
            "passes, each a flag, run in the order of the command line:",
            *(texts.get(name) or _described(name, passes[name]) for name in own),
            *(f"  --{name}\n      {USEFUL[name]}" for name in useful),
            "",
            f"{len(passes) - len(own) - len(useful)} further passes of xDSL are flags as well: "
            "glow-opt --list-passes prints their names.",
            "",
            "targets:",
            f"  {names}",
            "",
            "Passes and targets whose name begins with glow- are also accepted with this prefix.",
        ]
    )


def _is_useful(target: str) -> bool:
    return target == "mlir" or target.startswith(PREFIX)


def _described(name: str, load: Callable[[], type[ModulePass]]) -> str:
    # loads the pass, which takes long
    from .pass_descriptions import described

    return described(name, load)
