"""The product's own configuration. This is the one module of the room that reads files: those of the package itself."""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path


def builtin_files() -> dict[str, str]:
    """`bot.yml` and the prompts (`prompts/ask.md`), for `configuration.check`.

    An installed package carries them under `bot/_data/`; a checkout has them in `config/` and `prompts/` beside `bot/`.
    """
    data: Traversable = files("bot") / "_data"
    if not data.is_dir():
        data = Path(__file__).resolve().parents[2]
    found = {"bot.yml": (data / "config" / "bot.yml").read_text(encoding="utf-8")}
    for entry in (data / "prompts").iterdir():
        if entry.name.endswith(".md"):
            found[f"prompts/{entry.name}"] = entry.read_text(encoding="utf-8")
    return found
