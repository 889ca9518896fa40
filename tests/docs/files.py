"""Files of the repository that pages show as they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[2] / "config" / "examples"


def shown(path: str, language: str = "yaml") -> str:
    """A file of the examples in a fence."""
    return f"```{language}\n{(EXAMPLES / path).read_text(encoding='utf-8').rstrip()}\n```"


#: by the name in the marker; `yaml` is a whole configuration, `yml` a part of one
FILES: Mapping[str, Callable[[], str]] = {
    **{path.stem: partial(shown, path.name) for path in sorted(EXAMPLES.glob("*.yml"))},
    "release": partial(shown, "release/.github/bot.yml", "yml"),
    "changelog": partial(shown, "release/.github/bot/workflows/changelog.yml", "yml"),
    "release-steps": partial(shown, "release/.github/bot/workflows/release.yml", "yml"),
}
