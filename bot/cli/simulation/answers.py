"""What steps come to where somebody says so: the file behind `--answers`."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bot.errors import ConfigurationError, UserError
from bot.workflows.findings import Findings, nearest
from bot.workflows.loader import load

#: what an entry may say, with the types that it takes
_KEYS: Mapping[str, tuple[type, ...]] = {
    "output": (str,),
    "result": (dict, list, str, int, float, bool, type(None)),
    "outcome": (str,),
    "code": (str,),
    "message": (str,),
    "answer": (str,),
    "text": (str,),
    "answers": (dict,),
    "event": (dict,),
}
#: how a step may end; `timeout` is for what waits, `transient` is tried again as its `retry` says
OUTCOMES = ("success", "fail", "transient", "timeout")
_NAME = re.compile(r"(?P<step>(?:[a-z][a-z0-9_]*/)*[a-z][a-z0-9_]*)(?:\[(?P<key>.+)\])?", re.DOTALL)
_SHAPE = "An entry is a mapping, or a list of them for one attempt after the other; see `docs/simulate.md`."

Entry = Mapping[str, Any]


@dataclass(slots=True)
class Answers:
    """Entries by the name of a step: `plan`, `test[unit]` in an element or branch, `release/plan` in a used workflow.

    Of several entries each attempt takes the next; the last one stays.
    """

    entries: Mapping[str, tuple[Entry, ...]] = field(default_factory=dict)
    taken: dict[str, int] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Answers:
        """The file at `path`, YAML or JSON. Raises `UserError` (`answers`) for what is none."""
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UserError("answers", f"cannot read {path}: {error}", _SHAPE) from error
        findings = Findings()
        document = load(str(path), text, findings)
        if document is None:
            raise ConfigurationError(list(findings.sorted()))
        return cls.of(document.data)

    @classmethod
    def of(cls, data: Any) -> Answers:
        """The same from what the file holds."""
        if data is None:
            return cls()
        if not isinstance(data, dict):
            raise UserError("answers", "the answers are a mapping of steps' names", _SHAPE)
        return cls({name: _entries(name, value) for name, value in data.items()})

    def check(self, steps: Collection[str]) -> None:
        """Raises `UserError` (`answers`) for a name that is none of the steps'; `steps` hold no keys."""
        for name in self.entries:
            match = _NAME.fullmatch(name)
            if match is None or match["step"] not in steps:
                known = match["step"] if match else name
                hint = nearest(known, sorted(steps)) or f"there are {', '.join(f'`{one}`' for one in sorted(steps))}"
                raise UserError("answers", f"`{name}` is no step that this workflow comes to", hint)

    def take(self, *names: str) -> Entry | None:
        """The next entry under the first of these names that has any; None where nothing is said."""
        for name in names:
            if name in self.entries:
                turn = self.taken.get(name, 0)
                self.taken[name] = turn + 1
                return self.entries[name][min(turn, len(self.entries[name]) - 1)]
        return None

    @property
    def unused(self) -> list[str]:
        """Names that no attempt asked for."""
        return [name for name in self.entries if name not in self.taken]


def _entries(name: str, value: Any) -> tuple[Entry, ...]:
    entries = value if isinstance(value, list) else [value]
    if not entries:
        raise UserError("answers", f"`{name}` has an empty list", _SHAPE)
    for entry in entries:
        if not isinstance(entry, dict):
            raise UserError("answers", f"`{name}` is no mapping", _SHAPE)
        for key, given in entry.items():
            if key not in _KEYS:
                raise UserError("answers", f"`{name}` has no `{key}`", nearest(key, _KEYS) or _SHAPE)
            if not isinstance(given, _KEYS[key]):
                raise UserError("answers", f"`{key}` of `{name}` is of the wrong type", _SHAPE)
        if entry.get("outcome", "success") not in OUTCOMES:
            raise UserError("answers", f"`outcome` of `{name}` is one of {', '.join(OUTCOMES)}", _SHAPE)
    return tuple(entries)
