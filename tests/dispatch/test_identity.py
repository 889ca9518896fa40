"""Who we are and whom we serve: from the settings, else asked of GitHub once."""

from __future__ import annotations

import asyncio

import pytest

from bot.dispatch.identity import Identities, Identity
from bot.errors import Forbidden, Transient
from bot.model.thread import Account
from tests.dispatch.scene import ME, comment
from tests.github.fake import FakeGitHub, answer, make_github
from tests.rows import ANA

APP = {"id": 42, "slug": "Robot", "owner": {"id": 10, "login": "Acme", "type": "Organization"}}
ACME = Account(10, "acme", "Organization")


def identities(server: FakeGitHub, slug: str = "", owners: tuple[str, ...] = ()) -> Identities:
    return Identities(make_github(server), 42, slug, owners)


@pytest.mark.parametrize(
    ("owners", "owner", "served"),
    [
        ({"acme"}, Account(10, "Acme"), True),
        ({"10"}, Account(10, "renamed"), True),
        ({"10"}, Account(11, "acme"), False),
        ({"*"}, Account(99, "anybody"), True),
        ({"acme"}, Account(10, "acme-labs"), False),
        (set(), ACME, False),
    ],
)
def test_owners_are_served_by_login_or_id(owners: set[str], owner: Account, served: bool) -> None:
    """Whatever the case; `*` serves everybody; nobody is served by default."""
    assert Identity(42, "bot", frozenset(owners)).serves(owner) is served


def test_the_bot_account_is_the_slug_with_bot() -> None:
    """A person with the slug as login is somebody else."""
    identity = Identity(42, "bot", frozenset())
    assert (identity.handle, identity.login) == ("@bot", "bot[bot]")
    assert identity.is_me(Account(70, "Bot[bot]", "Bot"))
    assert not identity.is_me(Account(71, "bot"))


async def test_settings_are_enough() -> None:
    """With slug and owners set GitHub is not asked, and owners count in any case."""
    server = FakeGitHub()
    found = await identities(server, "bot", ("ACME",)).get()
    assert (found.slug, found.serves(ACME), server.requests) == ("bot", True, [])


async def test_what_is_missing_is_asked_once() -> None:
    """By all callers together; what is set stays."""
    server = FakeGitHub()
    server.on("GET", "/app", answer(APP))
    asked = identities(server)
    assert asked.handle == "@bot"
    first, second = await asyncio.gather(asked.get(), asked.get())
    assert first is second
    assert (first.slug, first.owners, asked.handle) == ("Robot", frozenset({"acme", "10"}), "@Robot")
    named = await identities(server, owners=("other",)).get()
    assert (named.slug, named.owners) == ("Robot", frozenset({"other"}))
    assert (await identities(server, slug="mine").get()).slug == "mine"
    assert len(server.sent(path="/app")) == 3


async def test_a_failure_is_not_kept() -> None:
    """The next caller asks again; wrong credentials are said as such."""
    server = FakeGitHub()
    asked = identities(server)
    server.on("GET", "/app", answer({}, 502, retry_after="60"), answer({"message": "no"}, 403), answer(APP))
    with pytest.raises(Transient):
        await asked.get()
    with pytest.raises(Forbidden):
        await asked.get()
    assert (await asked.get()).slug == "Robot"


async def test_which_comments_are_ours() -> None:
    """By the App's number where GitHub tells it, by the account where it does not."""
    asked = identities(FakeGitHub(), "bot", ("acme",))
    assert not asked.mine(comment(author=ME))
    await asked.get()
    assert asked.mine(comment(author=ME))
    assert asked.mine(comment(author=Account(70, "renamed[bot]", "Bot"), app_id=42))
    assert not asked.mine(comment(author=ME, app_id=7))
    assert not asked.mine(comment(author=ANA))


async def test_whose_doing_it_is() -> None:
    """A bot that changes a comment of ours that it wrote is this App, whatever it is called by now; nobody else is."""
    asked = identities(FakeGitHub(), "bot", ("acme",))
    renamed = Account(70, "renamed[bot]", "Bot")
    ours = comment(author=renamed, app_id=42)
    assert asked.wrote(renamed, ours)
    assert not asked.wrote(ANA, ours)
    assert not asked.wrote(Account(71, "other[bot]", "Bot"), ours)
    assert not asked.wrote(renamed, comment(author=renamed, app_id=7))
    assert not asked.wrote(ANA, comment(author=ANA, app_id=42))
    assert not asked.wrote(renamed, None)
    assert asked.accounts == {70}
