"""Whether a value may be put into the text of a shell command: only as a whole word of its own, outside everything.

`misplaced` reads the author's command as bash would (https://www.gnu.org/software/bash/manual/bash.html#Quoting,
*Shell Expansions*, *Redirections*) and is careful where it cannot follow: a doubt refuses the value, never lets it in.
The value itself is inserted in single quotes, always, so that it is neither a keyword, an option of a redirection,
a pattern nor a home directory.
"""

from __future__ import annotations

from bot.workflows.shell_reader import ShellReader


def quoted(value: str) -> str:
    """One word of bash whose value is exactly `value`, on one line.

    After some syntax errors bash drops the line and goes on with the next one, even inside quotes; so there is no next.
    """
    if "\n" not in value:
        return "'" + value.replace("'", "'\\''") + "'"
    return "$'" + value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n") + "'"


def misplaced(text: str) -> list[str]:
    """For each `VALUE` in the command, in order, why it cannot stand there; empty where it can."""
    return ShellReader(text).read()
