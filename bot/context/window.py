"""Which comments of a snapshot a step sees, and why it does not see the others. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from bot.context.snapshot import Message, Pin, Ref, ThreadSnapshot, order
from bot.model.context import CommentRecord, Trust
from bot.model.role import Role
from bot.model.thread import Account

Roles = Mapping[int, Role]

#: the role of an author whom nobody had to ask about
NOT_ASKED = "role not asked"


@dataclass(frozen=True, slots=True)
class WindowPolicy:
    """How much of a thread a step sees: `history_comment_count`, `history.authors`, `history.bots`, and what `auto`
    needs to know of the step. `asked_by` is the role of whoever mentioned the bot: a writer vouches for the issue's
    body.
    """

    count: int = 5
    authors: Literal["auto", "any", "readers", "writers"] = "auto"
    bots: Literal["roster", "all", "none"] = "roster"
    public: bool = False
    writes: bool = False
    secrets: bool = False
    network: bool = False
    asked_by: Role = Role.NONE

    @property
    def least(self) -> Role:
        """The least role whose words are shown."""
        if self.authors == "auto":
            risky = self.public and (self.writes or self.secrets or self.network)
            return Role.WRITE if risky else Role.NONE
        return {"any": Role.NONE, "readers": Role.READ, "writers": Role.WRITE}[self.authors]

    @property
    def reason(self) -> str:
        """One line for the manifest."""
        if self.authors != "auto":
            return self.authors
        if self.least is Role.NONE:
            return "any (auto)"
        has = [
            word
            for word, on in (("can write", self.writes), ("has secrets", self.secrets), ("has network", self.network))
            if on
        ]
        return f"writers (auto: public repository, and the step {' and '.join(has)})"


@dataclass(frozen=True, slots=True)
class Shown:
    """A comment that the step sees. `role` is its author's, as a word; `bot` for our own results."""

    message: Message
    role: str
    trust: Trust
    pin: Pin | None = None


@dataclass(frozen=True, slots=True)
class Selection:
    """What the step sees of the thread: `comments` and `pins`, oldest first, whether the issue's body; every fate.

    `thread` is what was said before in the review thread which the request is about; it takes no place in the window.
    """

    comments: tuple[Shown, ...]
    pins: tuple[Shown, ...]
    records: tuple[CommentRecord, ...]
    body: bool
    body_role: str
    body_trust: Trust
    window: int
    authors: str
    notes: tuple[str, ...] = ()
    thread: tuple[Shown, ...] = ()


def select(snapshot: ThreadSnapshot, policy: WindowPolicy, roles: Roles) -> Selection:
    """Walk from the newest comment back until the window is full. Whose role is not in `roles` counts as having none.

    A comment of somebody below the policy's least role does not take a place in the window: nobody can push the
    maintainers' words out of it by writing many comments.
    """
    chosen = _Choice(policy, roles, snapshot.anchor.root_id)
    for message in chosen.all_of(snapshot):
        chosen.comment(message)
    notes = [*snapshot.notes, *reversed(chosen.notes)]
    if len(chosen.units) < policy.count and not snapshot.complete:
        notes.append(f"the window holds {len(chosen.units)} of {policy.count}: older comments were not read")
    issue = snapshot.issue
    role = roles.get(issue.author.id, Role.NONE)
    body = role.at_least(policy.least) or policy.asked_by.at_least(Role.WRITE)
    if not body:
        notes.append(f"issue body by {issue.author.login}: below trust")
    fates = sorted(chosen.fates.values(), key=lambda fate: order(fate[0]))
    return Selection(
        comments=tuple(reversed(chosen.shown)),
        pins=tuple(chosen.pins),
        records=tuple(_record(message, fate, roles) for message, fate in fates),
        body=body,
        body_role=_role_word(issue.author, roles),
        body_trust=_trust(role),
        window=policy.count,
        authors=policy.reason,
        notes=tuple(notes),
        thread=tuple(reversed(chosen.thread)),
    )


def authors_needed(snapshot: ThreadSnapshot, policy: WindowPolicy, roles: Roles | None = None) -> set[Account]:
    """Whose role must still be asked, given those in `roles`: only of people who could be shown.

    Ask, add the answers to `roles`, and call again until the set is empty: where a policy leaves people out, the window
    reaches further back. A single call is safe too; who was not asked counts as having no role.
    """
    known = dict(roles or {})
    hopeful = {message.author.id: Role.ADMIN for message in snapshot.messages}
    hopeful |= {pin.message.author.id: Role.ADMIN for pin in snapshot.pins}
    chosen = _Choice(policy, hopeful | known, snapshot.anchor.root_id)
    for message in chosen.all_of(snapshot):
        if not message.out:  # whoever's words can never be shown need not be known
            chosen.comment(message)
    shown = [entry.message for entry in (*chosen.shown, *chosen.pins, *chosen.thread)]
    # the author of a pin that was left out is known already
    accounts = {message.author for message in shown if message.purpose is None} | {snapshot.issue.author}
    return {account for account in accounts if account.id and account.id not in known}


@dataclass(slots=True)
class _Choice:
    policy: WindowPolicy
    roles: Roles
    #: the comment that begins the review thread which the request is about
    root: int | None = None
    shown: list[Shown] = field(default_factory=list)
    pins: list[Shown] = field(default_factory=list)
    thread: list[Shown] = field(default_factory=list)
    units: set[str] = field(default_factory=set)
    fates: dict[Ref, tuple[Message, str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def all_of(self, snapshot: ThreadSnapshot) -> Iterator[Message]:
        """The comments to decide about, the newest first; the pins are decided before."""
        for pin in snapshot.pins:
            self._pin(pin, snapshot.anchor.ref)
        return reversed(snapshot.messages)

    def _pin(self, pin: Pin, request: Ref | None) -> None:
        message = pin.message
        if message.ref == request:
            # it has a block of its own
            return
        if not pin.vouched and not self._trusted(message):
            self.fates[message.ref] = message, "below trust"
            return
        self.fates[message.ref] = message, "pinned"
        self.pins.append(self._entry(message, pin))

    def comment(self, message: Message) -> None:
        """Decide about one more, older than those before."""
        which = message.ref
        if which in self.fates:
            return
        fate = message.out or self._fate(message)
        if fate == "included":
            self.units.add(message.unit)
            self.shown.append(self._entry(message, None))
        elif fate == "thread":
            self.thread.append(self._entry(message, None))
        elif fate == "deleted" and len(self.units) < self.policy.count:
            self.notes.append(f"comment {message.id} by {message.author.login} was deleted since")
        self.fates[which] = message, fate

    def _fate(self, message: Message) -> str:
        if message.purpose is not None and self.policy.bots == "none":
            return "own result"
        if message.by_other_bot and self.policy.bots != "all":
            return "other bot"
        if message.stands_in(self.root):
            return "thread" if self._trusted(message) else "below trust"
        if len(self.units) >= self.policy.count and message.unit not in self.units:
            return "beyond window"
        return "included" if self._trusted(message) else "below trust"

    def _trusted(self, message: Message) -> bool:
        # our own words are always among those shown
        return message.purpose is not None or self._role(message).at_least(self.policy.least)

    def _role(self, message: Message) -> Role:
        return self.roles.get(message.author.id, Role.NONE) if message.author.id else Role.NONE

    def _entry(self, message: Message, pin: Pin | None) -> Shown:
        if message.purpose is not None:
            # made by a model from texts of anybody
            return Shown(message, "bot", "untrusted", pin)
        return Shown(message, _role_word(message.author, self.roles), _trust(self._role(message)), pin)


def _record(message: Message, fate: str, roles: Roles) -> CommentRecord:
    return CommentRecord(
        id=message.id,
        author=message.author.login,
        role="bot" if message.purpose is not None else _role_word(message.author, roles),
        created_at=message.created_at.isoformat(),
        updated_at=message.updated_at.isoformat(),
        bytes=message.bytes,
        fate=fate,
        removed=message.removed,
        url=message.url,
        note=message.note,
        kind=message.kind,
        place=message.place.where if message.place is not None else "",
    )


def _role_word(account: Account, roles: Roles) -> str:
    if not account.id:
        return Role.NONE.value
    role = roles.get(account.id)
    return NOT_ASKED if role is None else role.value


def _trust(role: Role) -> Trust:
    if role.at_least(Role.WRITE):
        return "writer"
    return "reader" if role.at_least(Role.READ) else "untrusted"
