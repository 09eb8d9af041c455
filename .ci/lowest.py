"""Prints the lowest versions of dependencies that pyproject.toml allows, as constraints for pip."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"
REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(\[[\w,-]*\])?(>=|~=|==)(?P<version>[\w.]+)")


def constraint(requirement: str) -> str:
    """
    Returns `name[extra]>=1.2` as `name==1.2`. Raises ValueError for a requirement of another form.
    """
    found = REQUIREMENT.fullmatch(requirement)
    if found is None:
        raise ValueError(f"expected one version with >=, ~= or ==, found {requirement!r}")
    return f"{found['name']}=={found['version']}"


if __name__ == "__main__":
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    print("\n".join(map(constraint, project["dependencies"])))
