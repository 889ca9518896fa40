"""Which runner an agent gets."""

from __future__ import annotations

import subprocess
import sys

import pytest

from bot.errors import UserError
from bot.model.outcome import Done, Failed
from bot.runners import Providers, Runners
from bot.runners.exec import Exec
from bot.runners.models import Models
from bot.workspace.sandbox import open_sandbox
from tests.fake_llm import FakeLLM
from tests.runners.calls import call


async def runners(providers: Providers, default: str | None = None) -> Runners:
    """Runners with supervised processes."""
    return Runners(providers, await open_sandbox("off"), default)


async def test_argv_goes_to_the_program() -> None:
    """A call with argv runs the program, whatever models there are."""
    async with await runners(Providers()) as all_:
        outcome = await all_.run(call("openai:x", argv=("cat",), system=""))
    assert isinstance(outcome, Done)
    assert outcome.output == "ping"


async def test_default_model_is_asked(fake: FakeLLM, providers: Providers) -> None:
    """A call that names no model asks the instance's default."""
    async with await runners(providers) as all_:
        assert all_.default_model == "openai:gpt-6-luna"
        outcome = await all_.run(call())
    assert isinstance(outcome, Done)
    assert outcome.model == "openai:gpt-6-luna"
    assert fake.requests[0].model == "gpt-6-luna"


async def test_given_default_wins(fake: FakeLLM, providers: Providers) -> None:
    """`BOT_DEFAULT_MODEL` goes before the first key's model, the agent's own model before both."""
    async with await runners(providers, "anthropic:claude-haiku-5-5") as all_:
        await all_.run(call())
        await all_.run(call("openai:y"))
    assert [request.model for request in fake.requests] == ["claude-haiku-5-5", "y"]


async def test_no_model_at_all() -> None:
    """Without a model and without keys the failure names the settings."""
    async with await runners(Providers()) as all_:
        assert all_.default_model is None
        outcome = await all_.run(call())
        assert outcome == all_.check(call())
    assert isinstance(outcome, Failed)
    assert outcome.code == "model_unavailable"
    assert "BOT_DEFAULT_MODEL" in outcome.hint


async def test_fallback_of_a_default() -> None:
    """A fallback serves where neither model nor default exists, and `check` sees it."""
    async with await runners(Providers()) as all_:
        assert all_.check(call("", "demo:echo")) is None
        outcome = await all_.run(call("", "demo:echo"))
    assert isinstance(outcome, Done)
    assert outcome.model == "demo:echo"


async def test_kinds() -> None:
    """Each kind has its runner; an unknown one is refused by name."""
    async with await runners(Providers()) as all_:
        assert isinstance(all_.runner_for("exec"), Exec)
        assert isinstance(all_.runner_for(), Models)
        with pytest.raises(UserError, match="`codex` is not a runner"):
            all_.runner_for("codex")


async def test_check_of_a_program() -> None:
    """A program needs no key."""
    async with await runners(Providers()) as all_:
        assert all_.check(call(argv=("cat",))) is None
        assert all_.models_of(call("openai:x", argv=("cat",))) == ()


def test_import_is_cheap() -> None:
    """Importing the room imports no SDK: the server starts without them."""
    source = (
        "import sys, bot.runners, bot.runners.models, bot.runners.demo;"
        "heavy = {'pydantic_ai', 'openai', 'anthropic', 'httpx2', 'genai_prices'} & set(sys.modules);"
        "print(*sorted(heavy))"
    )
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("\n", "")
