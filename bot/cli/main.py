"""The command line: the table of commands and the exit codes (0, 1 failed, 2 usage, 3 configuration invalid)."""

from __future__ import annotations

import runpy
import sys
from typing import Annotated

import typer

from bot import __version__
from bot.cli import doctor, forget, prompt, redeliver, replay, run, runs, schema, serve, simulate, validate
from bot.cli.console import err
from bot.errors import ConfigurationError, OperatorError, UserError

app = typer.Typer(
    name="threadsmith",
    help="A GitHub bot that turns an issue thread into a place where work gets done.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"threadsmith {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Options of the command itself."""


@app.command()
def demo(
    once: Annotated[bool, typer.Option("--once", help="Play the conversation, check it, and stop.")] = False,
    port: Annotated[int, typer.Option(help="Port of the thread page; 0 picks a free one.")] = 8765,
) -> None:
    """Try it here: a GitHub look-alike and the bot on loopback, with a conversation that plays by itself."""
    # `cli` and `demo` are rooms of one line and do not import each other: it is started as a program
    sys.argv = ["threadsmith demo", *(["--once"] if once else []), "--port", str(port)]
    runpy.run_module("bot.demo", run_name="__main__", alter_sys=False)


app.command("serve")(serve.serve)
app.command("worker")(serve.work)
app.command("doctor")(doctor.doctor)
app.command("validate")(validate.validate)
app.command("simulate")(simulate.simulate)
app.command("schema")(schema.schema)
app.command("run")(run.run)
app.command("prompt")(prompt.prompt)
app.command("runs")(runs.runs)
app.command("replay")(replay.replay)
app.command("redeliver")(redeliver.redeliver)
app.command("forget")(forget.forget)


def main() -> None:
    """Entry point; errors that somebody can mend are told in two lines, never as a traceback."""
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
