"""The table of who may command, written down from the specification and not from the code that it is held against.

Roles are compared by their place in `ORDER`, never by the product's own comparison.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bot.model.thread import Account
from tests.dispatch.scene import ME, account_json

#: roles, least first, as GitHub documents them
ORDER = ("none", "read", "triage", "write", "maintain", "admin")
ALLOWED_BOT, OTHER_BOT = 80, 81


@dataclass(frozen=True, slots=True)
class Actor:
    """Who does something. `role` is what GitHub tells about the account, whether or not it is ever asked.

    `association` is what the payload shows, chosen to say the opposite of the truth: it must not count.
    """

    kind: str
    account: Account | None
    role: str
    association: str = "NONE"

    @property
    def name(self) -> str:
        return f"{self.kind}/{self.role}"

    @property
    def json(self) -> dict[str, Any] | None:
        """As payloads show it; a deleted account is null."""
        return account_json(self.account) if self.account is not None else None


def _person(place: int, role: str) -> Actor:
    lies = "OWNER" if place < ORDER.index("write") else "NONE"
    return Actor("person", Account(200 + place, f"p-{role}"), role, lies)


PEOPLE = tuple(_person(place, role) for place, role in enumerate(ORDER))
#: accounts of a company's own directory are people like others; their logins have an underscore
MANAGED = tuple(
    Actor("managed", Account(220 + place, f"p{role}_corp"), role) for place, role in enumerate(ORDER)
)  # fmt: skip
#: every one of these would be an admin if GitHub were asked
OTHERS = (
    Actor("this App", ME, "admin", "OWNER"),
    Actor("this App renamed in case", Account(70, "Bot[bot]", "Bot"), "admin", "OWNER"),
    # told by the App's number: the name that we know is the one of the start
    Actor("this App renamed", Account(ME.id, "renamed[bot]", "Bot"), "admin", "OWNER"),
    Actor("a bot that is allowed", Account(ALLOWED_BOT, "deploy[bot]", "Bot"), "admin", "OWNER"),
    Actor("an allowed bot under another name", Account(ALLOWED_BOT, "renamed[bot]", "Bot"), "none"),
    Actor("a bot", Account(OTHER_BOT, "other[bot]", "Bot"), "admin", "OWNER"),
    Actor("a bot with an allowed bot's name", Account(OTHER_BOT, "deploy[bot]", "Bot"), "admin", "OWNER"),
    Actor("a bot without the suffix", Account(82, "Copilot", "Bot"), "admin", "OWNER"),
    Actor("a user with the suffix", Account(83, "odd[bot]"), "admin", "OWNER"),
    Actor("a deleted account", None, "admin", "OWNER"),
    # GitHub shows what deleted people did under this account of its own, which anybody's role would fit
    Actor("the account called ghost", Account(10137, "ghost"), "admin", "OWNER"),
    Actor("a mannequin", Account(84, "import", "Mannequin"), "admin", "OWNER"),
    Actor("an organisation", Account(10, "acme", "Organization"), "admin", "OWNER"),
    Actor("an enterprise's account", Account(85, "corp", "EnterpriseUserAccount"), "admin", "OWNER"),
    Actor("an enterprise", Account(86, "corp2", "Enterprise"), "admin", "OWNER"),
    Actor("a type of tomorrow", Account(87, "agent", "Agent"), "admin", "OWNER"),
    # an organisation's admin is shown as NONE in the repositories of others' making
    Actor("an organisation's admin", Account(88, "boss"), "admin", "NONE"),
)
ACTORS = (*PEOPLE, *MANAGED, *OTHERS)
#: kinds whose role decides, and those that command without one
WITH_ROLE = frozenset({"person", "managed", "an organisation's admin"})
WITHOUT_ROLE = frozenset({"a bot that is allowed", "an allowed bot under another name"})


@dataclass(frozen=True, slots=True)
class Line:
    """A command as somebody writes it, and the least role it needs; None: the repository's `trigger_role`."""

    text: str
    needs: str | None = None
    #: the `trigger_role`, but no less than this
    least: str = "none"

    def needed(self, trigger_role: str) -> str:
        """The least role for it in a repository with this `trigger_role`."""
        return self.needs or max(trigger_role, self.least, key=ORDER.index)


#: built-ins with words that make them say something where nothing runs and nobody is asked anything
BUILTIN_LINES = (
    Line("help"),
    Line("status"),
    Line("cancel"),
    Line("approve"),
    Line("reject"),
    Line("answer r1.nothing yes"),
    Line("pin https://github.test/acme/widgets/issues/2#issuecomment-1"),
    Line("unpin 1"),
    Line("pins"),
    Line("why r9"),
    Line("config"),
    Line("retry"),
    # what comes after `stop` in one comment is heard all the same: built-ins are no runs
    Line("stop"),
    Line("resume"),
    Line("steer Leave it alone"),
    # the branch is not there, which only those are told who may try one
    Line("try nowhere plain look here", least="write"),
)
#: agents and workflows of `FILE`, each with the role of its own where it has one, and what goes to the default
NAMED_LINES = (
    Line("plain look here"),
    Line("open look here", "read"),
    Line("strict look here", "maintain"),
    Line("build"),
    Line("sort", "triage"),
    Line("release", "admin"),
    Line("RELEASE now", "admin"),
    Line("what is this about?"),
    Line(""),
    Line("relaese"),
    Line("status of the parser, please"),
)
#: one for each way in which a role is found: the file's, of an agent, of a workflow, of the default
PLACE_LINES = (Line("build"), Line("strict look here", "maintain"), Line("sort", "triage"), Line("what is this about?"))
BROKEN_LINES = (Line("open look here", "read"), Line("what is this?"), Line("relaese"))

FILE = """\
version: 1
default: plain
trigger_role: {role}
allow_bots: [80, 70]
limits: {{per_actor_day: {{dispatches: null}}}}
agents:
  plain: {{model: "demo:echo"}}
  open: {{model: "demo:echo", trigger_role: read}}
  strict: {{model: "demo:echo", trigger_role: maintain}}
workflows:
  build:
    steps: [{{id: one, run: "true"}}]
  sort:
    trigger_role: triage
    steps: [{{id: one, run: "true"}}]
  release:
    trigger_role: admin
    steps: [{{id: one, run: "true"}}]
"""
#: workflows that start by themselves, of three roles
LISTENING = """\
version: 1
allow_bots: [80, 70]
limits: {per_actor_day: {dispatches: null}}
workflows:
""" + "".join(
    f"  {name}:\n    on: {{opened: true, labeled: [ready], closed: true, synchronize: true, ready_for_review: true,"
    f" review_submitted: true}}\n"
    f"{role}    steps: [{{id: one, run: 'true'}}]\n"
    for name, role in (
        ("open", "    trigger_role: read\n"),
        ("plain", ""),
        ("strict", "    trigger_role: admin\n"),
    )
)
LISTENERS = {"open": "read", "plain": "write", "strict": "admin"}
TRIGGER_ROLES = ("read", "triage", "write", "maintain", "admin")
BROKEN = "version: 1\ntrigger_role: read\nallow_bots: [80]\nagents:\n  helper: {modle: x}\n"


def may(actor: Actor, needs: str) -> bool:
    """Whether somebody may do what needs this role, by the specification's words."""
    if actor.kind in WITHOUT_ROLE:
        return True
    return actor.kind in WITH_ROLE and ORDER.index(actor.role) >= max(ORDER.index(needs), ORDER.index("read"))
