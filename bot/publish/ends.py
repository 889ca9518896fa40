"""What a refusal means for the post that met it, and for the others: a stable reason, and how far it reaches. Pure.

| reason                                                        | reaches                                              |
|---------------------------------------------------------------|------------------------------------------------------|
| `locked`                                                      | what is said in the thread; labels can still be set  |
| `deleted`, `transferred`, `issues_disabled`, `not_found`      | the thread, but not a pull request that is opened    |
| `archived`, `blocked`, `repository_removed`                   | the repository                                       |
| `app_removed`, `suspended`                                    | the installation                                     |
| `permission_missing: …`, when a token is asked for            | the installation's issues, or its pull requests      |
| `permission_missing: …`, when it is used                      | the post alone                                       |
| `comment_deleted`, and any other, as a sentence               | the post alone                                       |
"""

from __future__ import annotations

from dataclasses import dataclass

from bot.errors import Forbidden, NotFound, NotGranted
from bot.publish.performer import UNSURE, Act
from bot.store.ended import Reach

COMMENT_DELETED = "comment_deleted"
NOT_FOUND = "not_found"
_LOCKED = "locked"
_PERMISSION = "permission_missing"
_REACH = {
    _LOCKED: Reach.THREAD,
    "deleted": Reach.THREAD,
    "transferred": Reach.THREAD,
    "issues_disabled": Reach.THREAD,
    NOT_FOUND: Reach.THREAD,
    "archived": Reach.REPOSITORY,
    "blocked": Reach.REPOSITORY,
    "repository_removed": Reach.REPOSITORY,
    "app_removed": Reach.INSTALLATION,
    "suspended": Reach.INSTALLATION,
}
#: every reason that is a word, `unsure` for what nobody found; others are sentences
REASONS = (*_REACH, _PERMISSION, COMMENT_DELETED, UNSURE)
#: what can still be done in a locked conversation
_DONE = frozenset({"labels", "assign", "close", "pull_request", "check"})
#: what leads out of its thread
_OPENED = frozenset({"pull_request"})
#: what takes the permission for pull requests wherever it is wanted
_ON_PULL = frozenset({"review", "pull_request"})
#: what was said before stands there still
_STANDS = frozenset({_LOCKED, "archived", "suspended"})
#: causes that do not go away, so that what comes later need not be tried
_FOR_GOOD = frozenset({"deleted", "transferred", "app_removed"})


@dataclass(frozen=True, slots=True)
class End:
    """`spared` are actions that go on, `on_pull` which threads are meant; `gone` that nothing unsure stands there, and
    `for_good` that nothing ever will.
    """

    reason: str
    reach: Reach = Reach.ROW
    spared: frozenset[str] = frozenset()
    on_pull: bool | None = None
    gone: bool = False
    for_good: bool = False


def end_of(error: NotFound | Forbidden, act: Act) -> End:
    """The end of a post that GitHub refused, and of what shares its cause."""
    row, thread = act.row, act.thread
    why = error.why
    if isinstance(error, NotFound) and not why:
        of_comment = row.action in ("comment", "reaction")
        if of_comment and (row.posted_id is not None or row.target_id is not None):
            return End(COMMENT_DELETED)
        if row.action != "comment":
            # a label, a login, a server without reactions: it may be anything
            return End(str(error)[:500])
        why = NOT_FOUND
    if why.startswith(_PERMISSION):
        if not isinstance(error, NotGranted):
            return End(why)
        on_pull = thread.is_pull_request or row.action in _ON_PULL
        return End(why, Reach.INSTALLATION, frozenset() if on_pull else _ON_PULL, on_pull)
    reach = _REACH.get(why)
    if reach is None:
        return End(str(error)[:500] or type(error).__name__)
    spared = _DONE if why == _LOCKED else _OPENED if reach is Reach.THREAD else frozenset()
    return End(why, reach, spared, gone=why not in _STANDS, for_good=why in _FOR_GOOD)
