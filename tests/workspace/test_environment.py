"""Engine variables for steps."""

from __future__ import annotations

import pytest

from bot.errors import UserError
from bot.workspace.environment import allowed_env

ENGINE = {"HTTP_PROXY": "http://proxy", "AWS_KEY": "secret", "BOT_MARKER_KEY": "secret"}


def test_only_what_is_named_and_open_is_given() -> None:
    assert allowed_env(["HTTP_PROXY"], {"HTTP_PROXY", "AWS_KEY"}, ENGINE) == {"HTTP_PROXY": "http://proxy"}
    assert allowed_env([], {"HTTP_PROXY"}, ENGINE) == {}


@pytest.mark.parametrize("name", ["AWS_KEY", "NOT_SET", "BOT_MARKER_KEY"])
def test_what_the_operator_did_not_open_is_refused(name: str) -> None:
    """Set or not makes no difference to what is told; settings of ours stay closed even when listed."""
    with pytest.raises(UserError, match=name) as raised:
        allowed_env([name], {"HTTP_PROXY", "BOT_MARKER_KEY"}, ENGINE)
    assert raised.value.code == "env_not_exported"
    assert "secret" not in str(raised.value)


def test_open_but_not_set_is_told() -> None:
    with pytest.raises(UserError) as raised:
        allowed_env(["CI_URL"], {"CI_URL"}, ENGINE)
    assert raised.value.code == "env_unset"
