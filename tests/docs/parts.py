"""The generated parts of the documentation: each stands between two markers that name it.

<!-- generated: NAME -->
…
<!-- /generated -->
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.docs import codes, configuration, example, files, keeping, reference

#: by the name in the marker
PARTS: Mapping[str, Callable[[], str]] = {
    "settings": reference.settings,
    "permissions": reference.permissions,
    "events": reference.events,
    "cli": reference.cli,
    "builtins": reference.builtins,
    "states": reference.states,
    "metrics": reference.metrics,
    "modifiers": configuration.modifiers,
    "kinds": configuration.kinds,
    "tools": configuration.tools,
    "slots": reference.slots,
    "kept": keeping.kept,
    "namespaces": reference.namespaces,
    "rules": reference.rules,
    **{f"keys-{name}": part for name, part in configuration.KEYS.items()},
    "finding-codes": codes.findings,
    "failure-codes": codes.failures,
    **{f"file-{name}": part for name, part in files.FILES.items()},
    "example-bot-yml": example.configuration,
    "example-prompt": example.prompt,
    "example-manifest": example.manifest,
}

#: the pages that have such parts
PAGES = (
    "README.md",
    "docs/commands.md",
    "docs/configuration.md",
    "docs/context.md",
    "docs/cookbook.md",
    "docs/operating.md",
    "docs/states.md",
    "docs/steps.md",
)

_PART = re.compile(r"(<!-- generated: (?P<name>[a-z-]+) -->\n).*?(<!-- /generated -->)", re.DOTALL)
_MARKER = re.compile(r"<!-- /?generated\b")


def fill(text: str, parts: Mapping[str, Callable[[], str]] = PARTS) -> str:
    """The page with every part as it should be. Raises `ValueError` for a name without a part, or a lone marker."""

    def part(match: re.Match[str]) -> str:
        if match["name"] not in parts:
            raise ValueError(f"there is no generated part `{match['name']}`")
        return f"{match[1]}\n{parts[match['name']]().strip()}\n\n{match[3]}"

    if len(_MARKER.findall(text)) != 2 * len(_PART.findall(text)):
        raise ValueError("a marker of a generated part has no partner")
    return _PART.sub(part, text)


def page(path: Path) -> str:
    """The page at `path` as it should be."""
    return fill(path.read_text(encoding="utf-8"))
