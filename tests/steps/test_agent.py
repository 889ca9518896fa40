"""The kind `agent`: exactly the context goes to the runner that the roster names."""

from __future__ import annotations

from pathlib import Path

from bot.model.context import Context, Manifest
from bot.model.outcome import Done
from bot.runners import Limits, Providers, Runners
from bot.steps import perform_agent
from bot.workflows import Agent, load
from bot.workspace.supervised import Supervised
from tests.fake_llm import FakeLLM, Reply

CONTEXT = Context("You help.", "What is this?", (), Manifest())
LIMITS = Limits(10_000, 5, None, 20)


def agent(text: str) -> Agent:
    return load({".github/bot.yml": f"version: 1\nagents: {{a: {text}}}\n"}).agents["a"]


async def test_a_model_gets_system_and_prompt_and_nothing_else(tmp_path: Path) -> None:
    """With the roster's settings; when the first is not there, its fallback."""
    with FakeLLM() as fake:
        fake.script(Reply(status=404, code="model_not_found", message="no such model"), model="none")
        fake.script(Reply("an answer"), model="small")
        providers = Providers(openai_key="k", openai_base_url=fake.openai_url)
        async with Runners(providers, Supervised()) as runners:
            outcome = await perform_agent(
                "helper",
                agent('{model: "openai:none", fallback: ["openai:small"], temperature: 0.5, max_tokens: 77}'),
                CONTEXT,
                limits=LIMITS,
                cwd=tmp_path,
                env={"SECRET": "x"},
                runners=runners,
            )
        assert isinstance(outcome, Done)
        assert (outcome.output, outcome.model) == ("an answer", "openai:small")
        last = fake.requests[-1]
        assert (last.system, last.prompt, last.body["temperature"]) == ("You help.", "What is this?", 0.5)
        assert 77 in last.body.values()


async def test_a_program_gets_the_prompt_on_standard_input(tmp_path: Path) -> None:
    """In the step's folder, with the step's variables."""
    (tmp_path / "answer.sh").write_text('cat; echo; echo "$NAME"; ls')
    async with Runners(Providers(), Supervised()) as runners:
        outcome = await perform_agent(
            "local",
            agent("{runner: {exec: [sh, answer.sh]}}"),
            CONTEXT,
            limits=LIMITS,
            cwd=tmp_path,
            env={"NAME": "value"},
            runners=runners,
        )
    assert isinstance(outcome, Done)
    assert outcome.output is not None
    for words in ("You help.", "What is this?", "value", "answer.sh"):
        assert words in outcome.output
