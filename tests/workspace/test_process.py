"""What a command may be."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.errors import UserError
from bot.workspace.process import Command, shell

HERE = Path("/tmp")


def test_shell_is_bash_without_options() -> None:
    assert shell("a | b") == ("bash", "-c", "a | b")


@pytest.mark.parametrize(
    ("argv", "env", "code"),
    [
        ((), {}, "empty_command"),
        (("",), {}, "empty_command"),
        (("a", "b\0c"), {}, "nul_in_command"),
        (("a",), {"A": "b\0"}, "nul_in_env"),
        (("a",), {"A=B": ""}, "env_name"),
        (("a",), {"": ""}, "env_name"),
        (("a",), {"1A": ""}, "env_name"),
        (("a",), {"A\n": ""}, "env_name"),
    ],
)
def test_what_no_process_can_be_given_is_refused(argv: tuple[str, ...], env: dict[str, str], code: str) -> None:
    with pytest.raises(UserError) as raised:
        Command(argv, HERE, env)
    assert raised.value.code == code


def test_environment_is_fixed_and_the_step_s_own() -> None:
    assert Command(("true",), HERE, {"A": "1"}).environment("/h") == {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "LANG": "C.UTF-8",
        "HOME": "/h",
        "A": "1",
    }


def test_lone_surrogates_become_question_marks() -> None:
    """JSON may hold them, no process can."""
    command = Command(("echo", "a\ud800b", "\udcff"), HERE, {"A": "\udfff"})
    assert command.words() == ("echo", "a?b", "\udcff")
    assert command.environment("/h")["A"] == "?"
