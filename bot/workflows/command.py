"""A command as the author wrote it, and as it is started: shared by `run` steps and exec inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Discriminator, Field, Tag

from bot.workflows.node import Node, Variable, VariableValue

_ARGV = Annotated[tuple[str, ...], Field(min_length=1)]

#: text for the shell, or a list that is started without one
CommandText = Annotated[
    Annotated[str, Field(min_length=1), Tag("kind:text")] | Annotated[_ARGV, Tag("kind:list")],
    Discriminator(lambda value: "kind:list" if isinstance(value, (list, tuple)) else "kind:text"),
]

Environment = dict[Variable, VariableValue]


@dataclass(frozen=True, slots=True)
class Argv:
    """What is to be started. `warnings` are for the record."""

    argv: tuple[str, ...]
    warnings: tuple[str, ...] = ()


class Command(Node):
    """Base of what starts a process; the field that holds the command is `run` or `exec`."""

    @property
    def command(self) -> str | tuple[str, ...]:
        """The command as written."""
        raise TypeError(f"{type(self).__name__} starts no command")

    @property
    def command_text(self) -> str:
        """The command as written, on display: the shell's text, or the list's entries with spaces between."""
        return self.command if isinstance(self.command, str) else " ".join(self.command)

    def argv(self, scope: Mapping[str, Any]) -> Argv:
        """The argument vector for one attempt; text becomes `bash -c`, without `-e` or `pipefail`.

        Raises `UserError` (`command_value`) for a value that cannot stand in a command.
        """
        rendered = [template.render(scope) for path, template in self.templates() if path[0] in ("run", "exec")]
        warnings = tuple(warning for one in rendered for warning in one.warnings)
        words = tuple(one.text for one in rendered)
        return Argv(("bash", "-c", *words) if isinstance(self.command, str) else words, warnings)

    def environment(self, scope: Mapping[str, Any]) -> dict[str, str | None]:
        """See `rendered_environment`."""
        return rendered_environment(self, scope)


def rendered_environment(node: Node, scope: Mapping[str, Any]) -> dict[str, str | None]:
    """What the `env:` of a mapping names; None stands for the engine's own variable, where the operator exports it.

    Raises `UserError` (`template_undefined`, `command_value`).
    """
    names: dict[str, str | None] = dict(getattr(node, "env", {}))
    for path, template in node.templates():
        if path[0] == "env":
            names[str(path[1])] = template.render(scope).text
    return names
