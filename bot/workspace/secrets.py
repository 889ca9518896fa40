"""The operator's secrets: files in a folder, bound to a repository or to an owner by GitHub's numeric ids.

`<folder>/<repository id>/<NAME>` or `<folder>/owner-<owner id>/<NAME>`; the repository's own comes first. Ids never
change hands: a repository that takes another's name, or an account that takes another's login, gets nothing. The ids of
repositories and of owners are two rows of numbers that overlap, so the owner's folder says which it is.

Whoever asks for a secret that is not there, is another's, or is kept badly, is told the same; the log says which.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bot import log
from bot.errors import OperatorError, UserError

_log = log.get("secrets")

#: bytes of one secret; a certificate chain fits
SIZE_MAX = 64 * 1024
#: shorter ones are words: they are not redacted, because that would eat ordinary text
SHORT = 8
_NAME = re.compile(r"[A-Z][A-Z0-9_]*")
_BINDING = re.compile(r"(?:owner-)?[1-9][0-9]*")

Read = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Blemish:
    """Something in the folder that is not as it should be. `refused`: it is not read."""

    path: Path
    reason: str
    mend: str
    refused: bool = True


class Secrets:
    """Reads secrets when they are used. `tell` hears every value before anybody gets it: whoever redacts must know it.

    Without a folder there are none.
    """

    def __init__(self, folder: Path | None, tell: Callable[[str], None]) -> None:
        self._folder = folder
        self._tell = tell

    def of(self, repository_id: int, owner_id: int) -> Read:
        """What reads the secrets of one repository by name. It raises UserError `secret_unavailable`, nothing else."""
        bindings = (str(repository_id), f"owner-{owner_id}")

        def read(name: str) -> str:
            if self._folder is not None and _NAME.fullmatch(name):
                for binding in bindings:
                    value = self._read(self._folder, binding, name)
                    if value is not None:
                        return value
            raise unavailable(name)

        return read

    def _read(self, folder: Path, binding: str, name: str) -> str | None:
        try:
            value = _value(folder, binding, name)
        except OperatorError as error:
            # where it lies and what is wrong with it is the operator's to know
            _log.error("secret_refused", reason=error.message, mend=error.mend)
            return None
        if value is not None:
            self._tell(value)
        return value

    def warm(self) -> None:
        """Tell all that can be read now: what a run of yesterday left may hold a secret that nobody reads today."""
        if self._folder is None:
            return
        for binding, name in _entries(self._folder):
            try:
                value = _value(self._folder, binding, name)
            except OperatorError:
                continue  # `blemishes` tells
            if value is not None:
                self._tell(value)

    def blemishes(self) -> Iterator[Blemish]:
        """What `doctor` says of the folder. Never a value."""
        folder = self._folder
        if folder is None:
            return
        try:
            found = sorted(folder.iterdir())
        except OSError as error:
            yield Blemish(folder, f"cannot be read: {error.strerror}", "check BOT_SECRETS_DIR and its permissions")
            return
        for place in found:
            if place.name.startswith("."):
                continue  # how container platforms keep their versions
            if not _BINDING.fullmatch(place.name) or not place.is_dir():
                yield Blemish(place, "belongs to nobody", "a folder is `<repository id>` or `owner-<owner id>`")
                continue
            for file in sorted(_listed(place)):
                yield from _blemishes_of(folder, place.name, file.name)


def withheld(name: str) -> str:
    """Stands for `Secrets.of` where there are none to be had, as on the head of a fork."""
    raise unavailable(name)


def unavailable(name: str) -> UserError:
    """The one answer for a secret that cannot be had, whatever the reason."""
    return UserError(
        "secret_unavailable",
        f"the secret `{name}` is not available here",
        "the operator keeps secrets by the repository's or its owner's id; steps on the head of a fork get none",
    )


def _blemishes_of(folder: Path, binding: str, name: str) -> Iterator[Blemish]:
    path = folder / binding / name
    if name.startswith("."):
        return
    if not _NAME.fullmatch(name):
        yield Blemish(path, "is no name of a secret", "capital letters, digits and `_`, a letter first")
        return
    try:
        value = _value(folder, binding, name)
    except OperatorError as error:
        yield Blemish(path, error.message.removeprefix(f"{path} "), error.mend)
        return
    if value is None:
        yield Blemish(path, "is empty or not there", "write the secret into it, or remove it")
    elif len(value) < SHORT:
        reason = f"has fewer than {SHORT} characters, which redaction may not find"
        yield Blemish(path, reason, "use a longer one", refused=False)


def _value(folder: Path, binding: str, name: str) -> str | None:
    """The value, without its last line break; None where there is no such file, or nothing in it.

    Raises OperatorError for a file that must not be used.
    """
    path = folder / binding / name
    try:
        root, home, real = (Path(os.path.realpath(each)) for each in (folder, folder / binding, path))
        if not home.is_relative_to(root) or not real.is_relative_to(home):
            raise OperatorError(f"{path} leads out of its folder", "put the file itself there")
        _private(folder, home, real)
        descriptor = os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise OperatorError(f"{path} cannot be read: {error.strerror}", "check its owner and its mode") from error
    with os.fdopen(descriptor, "rb") as file:
        info = os.fstat(descriptor)
        if not stat.S_ISREG(info.st_mode):
            raise OperatorError(f"{path} is no file", "put a file there")
        if info.st_mode & 0o077 or info.st_uid not in (0, os.geteuid()):
            mend = f"`chmod 600 {path}`, owned by the bot's user or root"
            raise OperatorError(f"{path} can be read or changed by others", mend)
        data = file.read(SIZE_MAX + 1)
    if len(data) > SIZE_MAX:
        raise OperatorError(f"{path} is larger than {SIZE_MAX // 1024} KiB", "a secret is short")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise OperatorError(f"{path} is not UTF-8", "encode it, as with base64") from error
    return text.removesuffix("\r\n" if text.endswith("\r\n") else "\n") or None


def _private(folder: Path, home: Path, real: Path) -> None:
    """Whether nobody else can put another file in its place. Raises OperatorError, OSError."""
    for place in {home, *(parent for parent in real.parents if parent.is_relative_to(home))}:
        info = os.stat(place)
        if info.st_mode & 0o022 or info.st_uid not in (0, os.geteuid()):
            raise OperatorError(
                f"{folder / home.name} can be changed by others",
                f"`chmod go-w {place}`, owned by the bot's user or root",
            )


def _entries(folder: Path) -> Iterator[tuple[str, str]]:
    for place in _listed(folder):
        if _BINDING.fullmatch(place.name):
            yield from ((place.name, file.name) for file in _listed(place) if _NAME.fullmatch(file.name))


def _listed(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []
