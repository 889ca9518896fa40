"""What is known of a thread: what was read of it now, and what the store has seen before."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field, replace

from bot.context.reviews import Collected
from bot.context.snapshot import Message, Ref, StoredVersion, ref
from bot.context.versions import Versions
from bot.model.slot import Slot
from bot.model.thread import Comment

#: what a comment of ours is for: the slot that its verified marker names (parts of one slot count once), or its purpose
#: alone; None for everybody else's
IsOurs = Callable[[Comment], Slot | str | None]


@dataclass(slots=True)
class Found:
    """Everything known about the thread before anything is left out."""

    read: Collected
    versions: Versions
    is_ours: IsOurs
    is_command_only: Callable[[str], bool]
    reach: int
    pinned: frozenset[Ref] = field(default_factory=frozenset)
    examined: dict[Ref, Message] = field(default_factory=dict)

    def know(self, versions: Sequence[StoredVersion]) -> None:
        """The store has more than was known: what was made of it before is looked at again."""
        self.versions = Versions(versions)
        self.examined.clear()

    def ours(self, comment: Comment, read: Container[Ref]) -> tuple[str | None, str]:
        """The purpose of a comment of ours, and what its parts share; `read` are those that GitHub shows now."""
        ours: Slot | str | None
        which = ref(comment)
        if which in read or which not in self.versions.refs:
            ours = self.is_ours(comment)
        else:
            version = self.versions.newest(which)
            if version.purpose is None or version.slot is None:
                return version.purpose, ""
            ours = replace(Slot.parse(version.slot), purpose=version.purpose)
        if isinstance(ours, Slot):
            return ours.purpose, str(replace(ours, part=0))
        return ours, ""
