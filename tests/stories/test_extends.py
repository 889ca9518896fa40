"""A repository that extends its organisation's configuration, on a whole bot and a whole GitHub."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlmodel import col, select

from bot.store import Session
from bot.store.tables import Snapshot
from tests.fake_llm import Reply
from tests.stage import Stage, open_stage
from tests.stories.talking import agent, calls, provider, stage_with

OWN = "version: 1\nextends: acme/.github@main\nworkflows: {own: {steps: [{id: a, run: echo own}]}}\n"
BASE = "version: 1\nworkflows: {shared: {steps: [{id: a, run: echo first}]}}\n"


def base(stage: Stage, files: dict[str, str], owner: str = "acme", *, private: bool = False) -> None:
    """The organisation's repository."""
    made = stage.world.add_repository(owner, ".github", files, private)
    stage.world.set_role(made, "meg", "write")


def snapshots(session: Session) -> list[Snapshot]:
    return list(session.exec(select(Snapshot).order_by(col(Snapshot.created_at), col(Snapshot.id))))


async def test_the_base_is_pinned_with_the_repository(tmp_path: Path) -> None:
    """Each dispatch runs what both said then; a later commit of the base alone makes a new snapshot."""
    async with open_stage(tmp_path, {".github/bot.yml": OWN}, sandbox="off") as stage:
        base(stage, {".github/bot.yml": BASE, ".github/bot/workflows/file.yml": "steps: [{id: a, run: echo file}]"})
        for word in ("own", "shared", "file"):
            await stage.says("ana", f"@bot {word}")
        assert ["own" in said or "first" in said or "file" in said for said in stage.replies()] == [True] * 3
        assert "first" in stage.replies()[1]
        before = len(stage.reads("/repos/acme/.github/"))
        stage.world.write_file("acme/.github", ".github/bot.yml", BASE.replace("first", "second"), "meg", "Change")
        await stage.settle()
        await stage.says("ana", "@bot shared")
        assert "second" in stage.replies()[3]
        found = await stage.bot.store.read(snapshots)
        assert [row.commit.count("+") for row in found] == [1, 1]
        (own, first), (same, second) = (row.commit.split("+") for row in found)
        assert own == same
        assert first != second
        assert "acme/.github@main:.github/bot/workflows/file.yml" in found[0].files
        await stage.says("ana", "@bot shared")
        kinds = [path.rsplit("/", 2)[-2] for path in stage.reads("/repos/acme/.github/")[before:]]
        # one more than the two requests: the commit to the base was told, and `.github` is a repository as any other
        assert kinds.count("commits") == 3
        assert kinds.count("blobs") == 1, "only what has changed is read"


@pytest.mark.parametrize(
    ("owner", "private", "extends", "said"),
    [
        ("acme", False, "acme/.github@gone", "cannot be read"),
        ("other", True, "other/.github@main", "cannot be read"),
        ("nobody", False, "nowhere/.github@main", "cannot be read"),
        ("stranger", False, "stranger/.github@main", "is not served by this bot"),
        ("acme", False, "acme/.github@main", "has no `.github/bot.yml`"),
    ],
)
async def test_a_base_that_cannot_be_had_is_refused_with_the_reason(
    tmp_path: Path, owner: str, private: bool, extends: str, said: str
) -> None:
    """In the thread, at its line; nothing runs. Private, absent and not installed are told the same."""
    own = OWN.replace("acme/.github@main", extends)
    async with open_stage(tmp_path, {".github/bot.yml": own}, sandbox="off", allowed_owners=("acme", "other")) as stage:
        for name in ("other", "stranger", "nobody"):
            stage.world.add_user(name, type="Organization")
            if name != "nobody":
                stage.world.install(stage.app, name)
        base(stage, {"README.md": "x"} if "has no" in said else {".github/bot.yml": BASE}, owner, private=private)
        comment = await stage.says("ana", "@bot own")
        (reply,) = stage.replies()
        assert said in reply
        assert f"`{extends}`" in reply
        assert "/blob/" in reply
        assert "bot.yml#L2" in reply
        assert stage.reactions(comment) == ["confused"]
        await stage.says("ana", "@bot own")
        assert len(stage.replies()) == 1


async def test_a_private_base_of_the_same_owner_serves(tmp_path: Path) -> None:
    """And a public one of another served owner."""
    async with open_stage(tmp_path, {".github/bot.yml": OWN}, sandbox="off", allowed_owners=("acme", "other")) as stage:
        base(stage, {".github/bot.yml": BASE}, private=True)
        await stage.says("ana", "@bot shared")
        assert "first" in stage.replies()[0]
        stage.world.add_user("other", type="Organization")
        stage.world.install(stage.app, "other")
        base(stage, {".github/bot.yml": BASE.replace("first", "of the other")}, "other")
        await stage.configures(OWN.replace("acme/", "other/"))
        await stage.says("ana", "@bot shared")
        assert "of the other" in stage.replies()[1]


async def test_a_fault_of_the_base_leads_to_its_line(tmp_path: Path) -> None:
    """In the base's own repository, at the commit that was read."""
    async with open_stage(tmp_path, {".github/bot.yml": OWN}, sandbox="off") as stage:
        base(stage, {".github/bot.yml": BASE + "nonsense: 1\n"})
        await stage.says("ana", "@bot own")
        (reply,) = stage.replies()
        assert "acme/.github@main:.github/bot.yml" in reply
        assert f"{stage.world.site_url}/acme/.github/blob/" in reply
        assert ".github/bot.yml#L3" in reply


async def test_a_dispatch_of_a_run(tmp_path: Path) -> None:
    """Finds what the base brings, and runs what both said: kept as such."""
    own = agent("[dispatch]", "extends: acme/.github@main\n")
    with provider(calls("dispatch", workflow="shared"), Reply("Started.")) as fake:
        async with stage_with(tmp_path, fake, own, sandbox="off") as stage:
            base(stage, {".github/bot.yml": BASE})
            await stage.says("ana", "@bot helper go")
            assert any("first" in said for said in stage.replies()), stage.replies()
            (kept,) = await stage.bot.store.read(snapshots)
            assert "+" in kept.commit
