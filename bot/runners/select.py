"""Which runner drives an agent."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Self

from bot.errors import UserError
from bot.model.outcome import Failed, Outcome
from bot.runners.call import Call, Runner
from bot.runners.exec import Exec
from bot.runners.models import Models
from bot.runners.providers import Providers, default_model

if TYPE_CHECKING:
    from bot.workspace.sandbox import Sandbox

#: the kinds of runner; "" is an agent with a `model`
KINDS = ("", "exec")


class Runners:
    """All runners of this instance; itself a `Runner` that picks by what the call holds.

    A call with `argv` goes to the program, any other to its model, or to `default_model` where it names none (given, or
    taken from the first provider with a key). Owns the connections to the providers: use as an async context manager
    or call `aclose`.
    """

    def __init__(self, providers: Providers, sandbox: Sandbox, default: str | None = None) -> None:
        self.providers = providers
        self.default_model = default or default_model(providers)
        self._models = Models(providers)
        self._exec = Exec(sandbox)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_exc: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections to the providers."""
        await self._models.aclose()

    async def warm(self) -> None:
        """Import the model SDKs ahead of the first call, off the event loop."""
        await self._models.warm()

    def runner_for(self, kind: str = "") -> Runner:
        """The runner of a kind: "" for models, `exec` for programs. Raises `UserError` `unknown_runner`."""
        if kind not in KINDS:
            raise UserError("unknown_runner", f"`{kind}` is not a runner", "use `model`, or `runner: {exec: [argv]}`")
        return self._exec if kind == "exec" else self._models

    def models_of(self, call: Call) -> tuple[str, ...]:
        """The models that `call` may ask, in order; empty for a program."""
        if call.argv:
            return ()
        return tuple(model for model in (call.model or self.default_model, *call.fallback) if model)

    def check(self, call: Call) -> Failed | None:
        """What stands in the way of `call` before it is made, for `doctor` and before inputs are computed."""
        if call.argv:
            return None
        verdicts = [self.providers.check(model) for model in self.models_of(call) or ("",)]
        return verdicts[0] if all(verdicts) else None

    async def run(self, call: Call) -> Outcome:
        """Ask the right runner; see `Runner.run`."""
        if call.argv:
            return await self._exec.run(call)
        models = self.models_of(call)
        return await self._models.run(replace(call, model=models[0] if models else "", fallback=models[1:]))
