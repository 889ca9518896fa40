"""Which of the engine's variables a step may be given: an allow-list with the operator's ceiling over it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from bot.errors import UserError

#: our own settings, secrets among them; no ceiling opens these
_PREFIX = "BOT_"


def allowed_env(names: Iterable[str], export_env: Collection[str], engine_env: Mapping[str, str]) -> dict[str, str]:
    """The engine variables that a step's `env:` names, with their values.

    `export_env` is `BOT_EXPORT_ENV`, the only names that a repository may ask for; `engine_env` the engine's
    environment, passed in. All or nothing: raises UserError for a name that is not on the list, or not set here.
    Whether a name is set is not told of names that are not on the list.
    """
    granted = {}
    for name in names:
        if name not in export_env or name.startswith(_PREFIX):
            raise UserError(
                "env_not_exported",
                f"the engine variable `{name}` is not open to repositories",
                "the operator opens variables by name with BOT_EXPORT_ENV; settings of the bot itself are never open",
            )
        if name not in engine_env:
            raise UserError(
                "env_unset", f"the engine variable `{name}` is open to repositories but not set", "tell the operator"
            )
        granted[name] = engine_env[name]
    return granted
