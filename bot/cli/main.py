"""The command line: the table of commands and the exit codes (0, 1 failed, 2 usage, 3 configuration invalid)."""

from __future__ import annotations

import gc
import runpy
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from bot import __version__
from bot.errors import ConfigurationError, OperatorError, UserError


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"threadsmith {__version__}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Options of the command itself."""


def demo(
    once: Annotated[bool, typer.Option("--once", help="Play the conversation, check it, and stop.")] = False,
    port: Annotated[
        int, typer.Option(help="Port of the thread page, which --once does not show; 0 picks a free one.")
    ] = 8765,
    no_bot: Annotated[
        Path | None,
        typer.Option(help="The look-alike alone: settings for bots of your own are in this new file until it ends."),
    ] = None,
) -> None:
    """Try it here: a GitHub look-alike and the bot on loopback, with a conversation that plays by itself."""
    # `cli` and `demo` are rooms of one line and do not import each other: it is started as a program
    alone = ["--no-bot", str(no_bot)] if no_bot is not None else []
    sys.argv = ["threadsmith demo", *(["--once"] if once else []), "--port", str(port), *alone]
    runpy.run_module("bot.demo", run_name="__main__", alter_sys=False)


#: by the word that asks for it: the module of this room and the function in it
COMMANDS: Mapping[str, tuple[str, str]] = {
    "demo": ("main", "demo"),
    "serve": ("serve", "serve"),
    "worker": ("serve", "work"),
    "doctor": ("doctor", "doctor"),
    "validate": ("validate", "validate"),
    "simulate": ("simulate", "simulate"),
    "schema": ("schema", "schema"),
    "run": ("run", "run"),
    "prompt": ("prompt", "prompt"),
    "runs": ("runs", "runs"),
    "replay": ("replay", "replay"),
    "redeliver": ("redeliver", "redeliver"),
    "forget": ("forget", "forget"),
}


def commands(names: Iterable[str] = COMMANDS) -> typer.Typer:
    """The command line with the commands of these names; importing their modules is most of what a start takes."""
    app = typer.Typer(
        name="threadsmith",
        help="A GitHub bot that turns an issue thread into a place where work gets done.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    app.callback()(_root)
    with _uncollected():
        for name in names:
            module, function = COMMANDS[name]
            app.command(name)(getattr(import_module(f"bot.cli.{module}"), function))
    return app


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without the garbage collector, and what is made meanwhile is none of its business later.

    It is modules and their classes, which stay. Looking through them again and again is a tenth of a start, and would
    stop a serving process for as long as fifty milliseconds at a time.
    """
    was, before = gc.isenabled(), len(sys.modules)
    gc.disable()
    try:
        yield
    finally:
        if was and len(sys.modules) > before:
            gc.freeze()
        if was:
            gc.enable()


def main() -> None:
    """Entry point; errors that somebody can mend are told in two lines, never as a traceback."""
    # whoever asks for one needs none of the others; help tells of all
    wanted = [name for name in sys.argv[1:2] if name in COMMANDS]
    app = commands(wanted or COMMANDS)
    from bot.cli.console import err  # late: with it comes most of the product, which `commands` brings in faster

    try:
        app()
    except ConfigurationError as error:
        for finding in error.findings:
            err(f"{finding.file}:{finding.line}:{finding.column}: {finding.severity} {finding.code}: {finding.message}")
            if finding.hint:
                err(f"  {finding.hint}")
        sys.exit(3)
    except UserError as error:
        err(f"{error.code}: {error.message}")
        if error.hint:
            err(f"  {error.hint}")
        sys.exit(1)
    except OperatorError as error:
        err(error.message)
        if error.mend:
            err(f"  {error.mend}")
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
