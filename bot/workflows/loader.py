"""Safe YAML with the place of every key and value.

The text is read event by event, without recursion, so that no file can exhaust the stack or the memory. What differs
from PyYAML's own loaders, and why:

- Scalars follow YAML 1.2's core schema (https://yaml.org/spec/1.2.2/#103-core-schema): `on`, `yes` and `no` are text,
  nothing becomes a date, and `010` is ten. Merge keys (`<<`) are no part of YAML 1.2 and are refused.
- Keys are text and occur once. One document a file. No tags but the core ones.
- At most 256 KiB, 50 levels, and 10,000 nodes that come from aliases, where 64 characters of text count as one more;
  an alias inside its own anchor is refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import yaml

from bot.workflows.document import CHILDLESS, Document, Source, Spot
from bot.workflows.findings import Findings
from bot.workflows.mark import Mark
from bot.workflows.scalars import NotANumber, resolve, tagged
from bot.workflows.yaml_faults import explain

FILE_BYTES_MAX = 256 * 1024
DEPTH_MAX = 50
ALIAS_NODES_MAX = 10_000

#: YAML's printable characters (https://yaml.org/spec/1.2.2/#51-character-set); lone surrogates are not among them
_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

# libyaml is several times faster; it is part of PyYAML's wheels, but not of every build of it
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Stop(Exception):
    """A fault after which the rest of the file has no meaning."""

    def __init__(self, mark: Mark, code: str, message: str, hint: str) -> None:
        super().__init__(message)
        self.finding = (mark, code, message, hint)


@dataclass(slots=True)
class _Open:
    """A list or mapping that is being filled. `size` and `height` count its nodes and levels, aliases expanded."""

    value: Any
    spot: Spot
    anchor: str | None
    children: dict[str | int, Spot]
    size: int = 1
    height: int = 1
    key: str | None = None
    key_at: tuple[int, int] | None = None
    #: the value of a refused key is read and dropped
    drop: bool = False

    is_mapping: bool = False

    @property
    def wants_key(self) -> bool:
        return self.is_mapping and self.key is None


class _Composer:
    def __init__(self, source: Source, findings: Findings) -> None:
        self.source = source
        self.findings = findings
        self.open: list[_Open] = []
        self.anchors: dict[str, tuple[Any, Spot, int, int]] = {}
        self.aliased = 0
        self.data: Any = None
        self.root = Spot(1, 1, 0, 0, source)
        self.documents = 0

    def take(self, event: Any) -> None:
        """One event of the parser."""
        kind = type(event)
        if kind is yaml.ScalarEvent:
            self._scalar(event)
        elif kind is yaml.MappingStartEvent:
            self._begin(event, {})
        elif kind is yaml.SequenceStartEvent:
            self._begin(event, [])
        elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
            done = self.open.pop()
            done.spot.end = event.end_mark.index
            self._place(done.value, done.spot, done.anchor, done.size, done.height)
        elif kind is yaml.AliasEvent:
            self._alias(event)
        elif kind is yaml.DocumentStartEvent:
            self.documents += 1
            if self.documents > 1:
                hint = "remove the line `---`; a second workflow goes into its own file"
                raise _Stop(self._mark(event), "yaml_documents", "a file holds one YAML document", hint)

    def _mark(self, event: Any) -> Mark:
        return Mark(self.source.file, event.start_mark.line + 1, event.start_mark.column + 1)

    def _spot(self, event: Any) -> Spot:
        start = event.start_mark
        return Spot(start.line + 1, start.column + 1, start.index, event.end_mark.index, self.source, None, CHILDLESS)

    def _begin(self, event: Any, empty: dict[str, Any] | list[Any]) -> None:
        if self.open and self.open[-1].wants_key:
            raise self._bad_key(event, "a list or mapping")
        if len(self.open) >= DEPTH_MAX:
            raise self._too_deep(event)
        wanted = "tag:yaml.org,2002:map" if isinstance(empty, dict) else "tag:yaml.org,2002:seq"
        if event.tag not in (None, "!", wanted):
            self._bad_tag(event)
        if event.anchor is not None:
            self.anchors.pop(event.anchor, None)
        spot = self._spot(event)
        children: dict[str | int, Spot] = {}
        spot.children = children
        self.open.append(_Open(empty, spot, event.anchor, children, is_mapping=isinstance(empty, dict)))

    def _scalar(self, event: Any) -> None:
        try:
            if event.tag is None:
                value = resolve(event.value) if event.implicit[0] else event.value
            else:
                value, known = tagged(event.tag, event.value)
                if not known:
                    self._bad_tag(event)
        except NotANumber as error:
            self.findings.error(
                self._mark(event), "yaml_number", str(error), f'quote it to make it text: "{error.text}"'
            )
            value = None
        if self.open and self.open[-1].wants_key:
            self._take_key(event, value)
        else:
            # a long text weighs more, for what an alias of it expands to
            self._place(value, self._spot(event), event.anchor, 1 + len(event.value) // 64, 0)

    def _take_key(self, event: Any, value: Any) -> None:
        owner = self.open[-1]
        start = event.start_mark
        if type(value) is str and value not in owner.value and value != "<<" and event.anchor is None:
            owner.key, owner.key_at, owner.drop = value, (start.line + 1, start.column + 1), False
            return  # nearly every key
        mark = self._mark(event)
        owner.key, owner.key_at, owner.drop = event.value, (mark.line, mark.column), True
        if event.anchor is not None:
            self.anchors[event.anchor] = (value, self._spot(event), 1, 0)
        if not isinstance(value, str):
            hint = f'quote it: "{event.value}"' if event.value else "give the key a name"
            self.findings.error(mark, "yaml_key", f"`{event.value}` is not text, and keys are text", hint)
        elif value == "<<" and event.implicit[0]:
            hint = "write the keys out, or use an alias for a whole value"
            self.findings.error(mark, "yaml_merge", "merge keys (`<<`) are no part of YAML 1.2", hint)
        elif value in owner.value:
            line = (owner.children[value].key or (0, 0))[0]
            hint = f"it stands in line {line} already; keep one of the two"
            self.findings.error(mark, "yaml_duplicate_key", f"the key `{value}` stands twice in one mapping", hint)
        else:
            owner.drop = False

    def _alias(self, event: Any) -> None:
        name = event.anchor
        if self.open and self.open[-1].wants_key:
            raise self._bad_key(event, "an alias")
        known = self.anchors.get(name)
        if known is None:
            inside = any(one.anchor == name for one in self.open)
            what = f"`*{name}` refers to itself" if inside else f"`*{name}` names no anchor above it"
            hint = "an alias cannot stand inside its own anchor" if inside else f"define it with `&{name}` first"
            raise _Stop(self._mark(event), "yaml_alias", what, hint)
        value, spot, size, height = known
        self.aliased += size
        if self.aliased > ALIAS_NODES_MAX:
            hint = "write the values out, or repeat less"
            message = f"aliases expand to more than {ALIAS_NODES_MAX:,} nodes"
            raise _Stop(self._mark(event), "yaml_alias", message, hint)
        if len(self.open) + height > DEPTH_MAX:
            raise self._too_deep(event)
        here = self._spot(event)
        here.children = spot.children
        self._place(value, here, None, size, height)

    def _place(self, value: Any, spot: Spot, anchor: str | None, size: int, height: int) -> None:
        if anchor is not None:
            self.anchors[anchor] = (value, spot, size, height)
        if not self.open:
            self.data, self.root = value, spot
            return
        owner = self.open[-1]
        owner.size += size
        if height >= owner.height:
            owner.height = height + 1
        if not owner.is_mapping:
            owner.children[len(owner.value)] = spot
            owner.value.append(value)
            return
        key, owner.key = owner.key, None
        assert key is not None  # a mapping without a pending key takes the event as a key
        if not owner.drop:
            spot.key = owner.key_at
            owner.value[key] = value
            owner.children[key] = spot

    def _bad_key(self, event: Any, what: str) -> _Stop:
        hint = (
            "write the key as plain text; `{{` outside quotes starts a mapping, so quote templates in `{…}` and `[…]`"
        )
        return _Stop(self._mark(event), "yaml_key", f"{what} cannot be a key", hint)

    def _too_deep(self, event: Any) -> _Stop:
        message = f"values are nested more than {DEPTH_MAX} levels deep"
        return _Stop(self._mark(event), "yaml_depth", message, "nest less; a workflow needs about ten levels")

    def _bad_tag(self, event: Any) -> None:
        hint = "remove it; text that begins with `!` needs quotes"
        self.findings.error(self._mark(event), "yaml_tag", f"the tag `{event.tag}` does not fit here", hint)


def load(file: str, text: str, findings: Findings) -> Document | None:
    """Read one YAML file. Faults go to `findings`; with an error among them there is no document.

    An empty file gives a document whose data is None. Never raises, whatever the text.
    """
    text = text.removeprefix("\ufeff")
    start = Mark(file)
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > FILE_BYTES_MAX:
        hint = "move prompts into `.github/bot/prompts/` and workflows into `.github/bot/workflows/`"
        findings.error(start, "yaml_size", f"the file has {size:,} bytes; at most {FILE_BYTES_MAX:,} are read", hint)
        return None
    bad = _UNPRINTABLE.search(text)
    if bad is not None:
        message = f"the character U+{ord(bad.group()):04X} cannot stand in YAML"
        hint = "remove it, or write it as an escape in double quotes"
        findings.error(start.within(text)(bad.start()), "yaml_character", message, hint)
        return None
    faults = Findings()
    composer = _Composer(Source(file, text), faults)
    try:
        parser = _Loader(text)
        while (event := parser.get_event()) is not None and not faults.full:
            composer.take(event)
    except _Stop as stop:
        faults.error(*stop.finding)
    except yaml.YAMLError as error:
        faults.error(*explain(file, text, error))
    findings.extend(faults)
    return None if faults.failed else Document(file, text, composer.data, composer.root)
