"""Secrets: whose they are, how they have to be kept, and that nobody learns which there are."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from bot.errors import UserError
from bot.publish.redact import Redactor
from bot.workspace.secrets import SIZE_MAX, Secrets, withheld

REPOSITORY, OWNER = 101, 55


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "secrets"
    made.mkdir(mode=0o700)
    return made


def put(folder: Path, binding: str, name: str, value: bytes | str, mode: int = 0o600) -> Path:
    place = folder / binding
    place.mkdir(mode=0o700, exist_ok=True)
    file = place / name
    file.write_bytes(value.encode() if isinstance(value, str) else value)
    file.chmod(mode)
    return file


def reader(folder: Path | None, repository: int = REPOSITORY, owner: int = OWNER) -> Callable[[str], str]:
    return Secrets(folder, lambda _: None).of(repository, owner)


def refusal(read: Callable[[str], str], name: str = "TOKEN") -> tuple[str, str, str]:
    with pytest.raises(UserError) as caught:
        read(name)
    return caught.value.code, caught.value.message, caught.value.hint


def test_the_repository_s_comes_before_the_owner_s(folder: Path) -> None:
    """Each is read at every use, so a change holds at once."""
    put(folder, "owner-55", "TOKEN", "of the owner\n")
    put(folder, "owner-55", "OTHER", "other value")
    read = reader(folder)
    assert (read("TOKEN"), read("OTHER")) == ("of the owner", "other value")
    put(folder, "101", "TOKEN", "of the repository")
    assert read("TOKEN") == "of the repository"
    assert reader(folder, repository=102)("TOKEN") == "of the owner"


def test_ids_not_names_bind(folder: Path) -> None:
    """A renamed repository or account that takes an old name or number of another row gets nothing."""
    put(folder, "acme", "TOKEN", "by login")
    put(folder, "widgets", "TOKEN", "by name")
    put(folder, "55", "TOKEN", "of the repository 55")
    put(folder, "owner-101", "TOKEN", "of the owner 101")
    assert refusal(reader(folder))[0] == "secret_unavailable"
    assert reader(folder, repository=55, owner=1)("TOKEN") == "of the repository 55"


@pytest.mark.parametrize(
    ("kept", "value"),
    [
        ("a\n", "a"),
        ("a\r\n", "a"),
        ("a\n\n", "a\n"),
        (" a ", " a "),
        ("line\nline", "line\nline"),
        ("é", "é"),
        ("a\r", "a\r"),
    ],
)
def test_one_line_break_at_the_end_is_not_part_of_it(folder: Path, kept: str, value: str) -> None:
    """Everything else is."""
    put(folder, "101", "TOKEN", kept)
    assert reader(folder)("TOKEN") == value


def spoil_nothing(folder: Path) -> None:
    """There is none."""


def spoil_group(folder: Path) -> None:
    """Its group may read it."""
    put(folder, "101", "TOKEN", "the value", 0o640)


def spoil_world(folder: Path) -> None:
    """Everybody may read it."""
    put(folder, "101", "TOKEN", "the value", 0o604)


def spoil_folder(folder: Path) -> None:
    """Everybody may put another in its place."""
    put(folder, "101", "TOKEN", "the value").parent.chmod(0o777)


def spoil_link(folder: Path) -> None:
    """It leads out."""
    outside = folder.parent / "outside"
    outside.write_text("the value")
    outside.chmod(0o600)
    put(folder, "101", "OTHER", "other value")
    (folder / "101" / "TOKEN").symlink_to(outside)


def spoil_neighbour(folder: Path) -> None:
    """It leads to another repository's."""
    put(folder, "102", "TOKEN", "the value")
    put(folder, "101", "OTHER", "other value")
    (folder / "101" / "TOKEN").symlink_to("../102/TOKEN")


def spoil_home(folder: Path) -> None:
    """Its folder leads out."""
    put(folder.parent, "elsewhere", "TOKEN", "the value")
    (folder / "101").symlink_to("../elsewhere")


def spoil_size(folder: Path) -> None:
    """It is too large."""
    put(folder, "101", "TOKEN", "x" * (SIZE_MAX + 1))


def spoil_bytes(folder: Path) -> None:
    """It is not UTF-8."""
    put(folder, "101", "TOKEN", b"\xff\xfe")


def spoil_kind(folder: Path) -> None:
    """It is a pipe, which nobody may wait for."""
    put(folder, "101", "OTHER", "other value")
    os.mkfifo(folder / "101" / "TOKEN", 0o600)


def spoil_empty(folder: Path) -> None:
    """It is empty."""
    put(folder, "101", "TOKEN", "\n")


SPOILS = [
    *(spoil_nothing, spoil_group, spoil_world, spoil_folder, spoil_link, spoil_neighbour, spoil_home, spoil_size),
    *(spoil_bytes, spoil_kind, spoil_empty),
]


@pytest.mark.parametrize("spoil", SPOILS)
def test_none_is_told_apart(folder: Path, spoil: Callable[[Path], None]) -> None:
    """Whatever is wrong, the repository hears the same as of one that is not there; the operator hears which."""
    spoil(folder)
    told = refusal(reader(folder))
    assert told == refusal(reader(None)) == refusal(withheld)
    assert told[:2] == ("secret_unavailable", "the secret `TOKEN` is not available here")
    blemishes = list(Secrets(folder, lambda _: None).blemishes())
    if spoil is spoil_nothing:
        assert blemishes == []
        return
    assert any("TOKEN" in str(each.path) and each.refused for each in blemishes)
    assert all(each.reason and each.mend for each in blemishes)
    assert "the value" not in str(blemishes)


@pytest.mark.parametrize("name", ["token", "", "../101/TOKEN", "A/B", "..", "A-B", "1A", "TOKEN\n", "ÄB"])
def test_names(folder: Path, name: str) -> None:
    """Nothing but the name of a secret leads to a file."""
    put(folder, "101", "TOKEN", "the value")
    (folder / "101" / "A-B").write_text("x")
    assert refusal(reader(folder), name)[0] == "secret_unavailable"


def test_links_inside_a_folder_are_fine(folder: Path) -> None:
    """Container platforms keep versions that way."""
    put(folder, "101", "TOKEN", "old")
    version = folder / "101" / "..2026"
    version.mkdir(mode=0o700)
    (folder / "101" / "TOKEN").rename(version / "TOKEN")
    (folder / "101" / "..data").symlink_to("..2026")
    (folder / "101" / "TOKEN").symlink_to("..data/TOKEN")
    assert reader(folder)("TOKEN") == "old"
    assert [each.reason for each in Secrets(folder, lambda _: None).blemishes()] == [
        "has fewer than 8 characters, which redaction may not find"
    ]


def test_it_is_redacted_before_anybody_has_it(folder: Path) -> None:
    """Also a new value, and those that nobody has read yet, after `warm`."""
    put(folder, "101", "TOKEN", "first-value")
    put(folder, "owner-55", "OTHER", "other-value")
    put(folder, "owner-55", "BAD", "bad-value-", 0o666)
    redact = Redactor()
    secrets = Secrets(folder, redact.add)
    assert redact("first-value other-value") == "first-value other-value"
    secrets.warm()
    assert redact("first-value other-value bad-value-") == "[redacted] [redacted] bad-value-"
    put(folder, "101", "TOKEN", "second-value")
    assert redact("second-value") == "second-value"
    assert secrets.of(101, 55)("TOKEN") == "second-value"
    assert redact("second-value first-value") == "[redacted] [redacted]"


def test_a_stranger_s_folder_is_told(folder: Path) -> None:
    """What binds to nobody is a mistake; nothing is read through it."""
    put(folder, "acme", "TOKEN", "the value")
    put(folder, "101", "lower", "the value")
    (folder / "README").write_text("x")
    assert [(each.path.name, each.reason) for each in Secrets(folder, lambda _: None).blemishes()] == [
        ("lower", "is no name of a secret"),
        ("README", "belongs to nobody"),
        ("acme", "belongs to nobody"),
    ]
    missing = list(Secrets(folder / "gone", lambda _: None).blemishes())
    assert [each.reason for each in missing] == ["cannot be read: No such file or directory"]
    assert list(Secrets(None, lambda _: None).blemishes()) == []
