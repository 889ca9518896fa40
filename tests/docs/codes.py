"""The codes that people meet, each with its meaning, and the codes that the source really gives."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from bot.github import configuration
from tests.docs.markdown import code, table

ROOT = Path(__file__).resolve().parents[2]
_CODE = re.compile(r"[a-z]+(?:_[a-z0-9]+)*")

FINDINGS: Mapping[str, str] = {
    "address": "a URL that is none, or that holds a name or password",
    "bound_args": "an entry of `bound_args` that is no path, or begins with none of `steps`, `ctx`, `inputs`, `item`",
    "code": "the body of a `code` step cannot be compiled",
    "command_word": "a value in a command that is not one word of its own, or that would be code there; use `env:`",
    "condition": "a condition that is not CEL; the message shows the place with a caret",
    "context": "an entry of `context` that names no value that a step gives",
    "context_key": "nothing writes this key of the run context, or nothing that can run before",
    "cron": "a `cron` that has not five fields that fit, is never due, or is due more than once every 5 minutes",
    "decide": "`decide` is a path, as `result.risk`",
    "duplicate_id": "two steps of one workflow, nested ones counted, or two entries of one list have one id",
    "duplicate_name": "an agent and a workflow, two workflows, two fields, or a param and an input have one name",
    "duration": "durations are a number and a unit: `60s`, `5m`, `2h`, `3d`",
    "empty": "a key that needs a value has an empty one",
    "export": "a workflow that is used gives nothing, or `export` names a step without a result",
    "extends": "`extends` names no base that can be read, or a base that extends another",
    "file_too_large": "a configuration file is larger than is read",
    "handle": "`mention` holds something that is no handle",
    "host": "a host is a name, as `api.example.org`, `*.example.org` or `api.example.org:8443`",
    "ignored_file": "a file below `.github/bot/workflows/` that is not read (a warning)",
    "input_default": "the default of an input is not what the input takes",
    "input_kind": "an input of a step has exactly one key that says where it comes from: `value`, `exec` and so on",
    "input_type": "a value is not of the type that is declared for it",
    "template_like": "`{{ … }}` or `${ … }` where a template is `${{ … }}` (a warning)",
    "trigger_text": "`${{ trigger.text }}` without a default in a workflow that an event starts (a warning)",
    "item": "`item` stands where no element is: outside `each`, or where all elements are asked for together",
    "missing_file": "a `prompt` or `schema` names a file that is not there",
    "secret_input": "the name of a secret would come from, or go to, what is no secret",
    "missing_input": "a workflow that is used needs an input that is not given",
    "missing_key": "a key that is needed is missing",
    "model": "a model is written as `provider:name`",
    "modifier": "the key exists and means nothing here",
    "name": "names and ids are lower-case and begin with a letter",
    "namespace": "the template names a namespace or value that this place does not take",
    "network": "`network` is `none` or a list of hosts",
    "not_a_file": "a folder stands where a file should",
    "not_available": "part of the language, and not part of this version",
    "not_readable": "GitHub does not show the file to the App: it lacks a permission",
    "not_utf8": "the file is not UTF-8",
    "one_of": "exactly one of several keys is needed: `model` or `runner`, `schema` or `fields`, `next` or `decide`",
    "option": "the value is none of those that are possible",
    "path_outside": "a path leads outside `.github/bot/`",
    "pattern": "a regular expression that cannot be read; its syntax is that of RE2",
    "range": "a number is too small or too large",
    "reserved_name": "the name belongs to the language or to the engine",
    "resource_kind": "a webhook where an MCP server is needed, or the other way round",
    "route": "a route leads to no step of the same frame, or its list of cases has no order",
    "schema": "a schema file that is neither a JSON Schema nor the short form",
    "shadowed": "an agent or a workflow has the name of a built-in command, which a mention gets instead (a warning)",
    "step_kind": "a step has exactly one key that names its kind: `agent`, `run`, `ask` and so on",
    "submodule": "a submodule stands where a file should",
    "symlink": "a symlink stands where a file should",
    "template_depth": "the path goes deeper than the value, or has too many segments",
    "template_slot": "templates are not read in this place",
    "template_syntax": "`${{` that is no reference; a literal one is written `$${{`",
    "too_many": "more templates than are read: in one text, in one file, or in all steps together",
    "too_many_bytes": "the configuration is too large in all",
    "too_many_files": "there are too many files below `.github/bot/`",
    "transition": "a value of `decide` that no transition says what follows; or (a warning) one that never comes",
    "trigger_inputs": "an event starts the workflow and cannot give an input that a run needs (a warning)",
    "type_mismatch": "text, number, list or mapping where another of them is expected",
    "unknown_agent": "a step names an agent that is not in the roster",
    "unknown_argument": "`bound_args` names an argument that the tool does not have",
    "unknown_artifact": "`artifacts.<id>` is nothing that a step before this one produces",
    "unknown_default": "`default` names neither an agent nor a workflow",
    "unknown_field": "the template names a field that the namespace does not have",
    "unknown_input": "`inputs.<name>` is not declared by the workflow",
    "unknown_key": "no such key; the nearest one is suggested",
    "unknown_name": "a word in a condition that nothing has, so that it is always false (a warning)",
    "unknown_param": "`params.<name>` is not declared by the workflow",
    "unknown_provider": "no such provider of models",
    "unknown_resource": "there is no resource of that name",
    "unknown_runner": "no such runner",
    "unknown_step": "`steps.<id>` is no step that can have run before this one",
    "unknown_tool": "`tools` names no built-in tool; a tool of a resource says `from`",
    "unknown_workflow": "`uses` names no workflow",
    "unreachable": "no route leads to the step",
    "uses_cycle": "a workflow would use itself, at once or through others",
    "uses_depth": "workflows that use each other are nested too deep",
    "version": "`version` is `1`",
    "writes": "a form writes a key that none of its questions gives",
    "yaml_alias": "an alias without its anchor, inside itself, or one that expands too far",
    "yaml_character": "a character that YAML does not allow",
    "yaml_depth": "values are nested too deep",
    "yaml_documents": "the file holds more than one YAML document",
    "yaml_duplicate_key": "a key stands twice in one mapping",
    "yaml_key": "a key is not text",
    "yaml_merge": "`<<` is no part of YAML 1.2",
    "yaml_number": "a number that cannot be kept exactly; quote it",
    "yaml_size": "the file is too large",
    "yaml_syntax": "the file is not YAML",
    "yaml_tab": "a tab indents a line",
    "yaml_tag": "a tag that does not fit its value",
}

FAILURES: Mapping[str, str] = {
    "file": "a file that a run or a used workflow is given does not fit, or cannot be had",
    "agent_failed": "the agent's program ended with an exit code other than 0",
    "agent_missing": "the agent's program is not there",
    "app_suspended": "the installation of the App was suspended; nothing was run",
    "artifact_missing": "a file that the step `produces` is not there, or is no plain file of its workspace",
    "artifact_too_large": "a file that the step `produces` is larger than 64 MiB",
    "bad_ref": "a branch name that git cannot take",
    "bound_mismatch": "the value of a `bound_args` is not what the tool takes there",
    "bound_missing": "the path of a `bound_args` had no value when the tool was to be called; it was not called",
    "branch_failed": "a branch of a `parallel` step failed",
    "budget_exceeded": "a limit of dollars, tokens or requests was reached",
    "code_failed": "the body of a `code` step raised, or its process died; the traceback has the author's lines",
    "command_failed": "the command of a `run` step ended with an exit code other than 0",
    "command_value": "a value for a command begins with `-`, or holds what a command cannot",
    "connector_failed": "a connector's tool or its server failed; its own text is told, and it is not called again",
    "context_missing": "what a step's `context` names has no value: nothing made it, or on a branch not taken",
    "conversation_lost": "a conversation that waited for an approval cannot be read, or its tool is gone",
    "decide_missing": "the path of a `decide` has no value",
    "each_key": "an element has no key, or two have the same",
    "each_list": "`each.over` is no list, or one that is too long",
    "element_failed": "an element of `each` failed",
    "empty_answer": "the model or program answered nothing",
    "empty_command": "the command is empty",
    "ended": "a step of kind `end` says that the run has failed",
    "env_name": "a variable's name that no process can have",
    "env_not_exported": "`env:` names a variable of the engine that the operator has not opened",
    "env_unset": "`env:` names an open variable that is not set",
    "export_missing": "the workflow ended without what its `export` names",
    "export_stale": "the work behind the export was sent back and not done again",
    "failed": "GitHub or git refused in a way that has no code of its own",
    "files_lost": "what earlier steps left in the clone lay on a machine that is gone, and was too much to be kept",
    "gate_answer": "an answer that the gate does not take",
    "gate_void": "what people answered was void three times: the head moved, or the question's text was changed",
    "gate_timed_out": "nobody answered the gate in time, and it has no `on_timeout`",
    "github_refused": "the App lacks a permission, or the thing is gone",
    "github_unavailable": "GitHub gave no answer for 15 minutes; its limits are waited for longer",
    "head_moved": "the pull request got new commits before the review of an older one was posted",
    "input_failed": "a required exec input failed; the model was not called",
    "internal_error": "a bug of ours; the log has the traceback",
    "interrupted": "the process ended while the step ran, and the step is not to be run again",
    "loop_exhausted": "a route that leads back was taken as often as `loop.max` allows",
    "missing_program": "the program of a `run` step is not there",
    "model_refused": "the provider refused the request",
    "model_unauthorised": "the provider refused the key",
    "model_unavailable": "the model does not exist, or this instance has no key for it",
    "no_transition": "the value of a `decide` has no transition",
    "not_done": "what the step was to do on GitHub or at a webhook was refused; the reason follows",
    "not_possible_here": "the instance cannot do it (isolation, a program); its operator is told how to mend that",
    "notify_value": "a value of `notify` is no list of names, or names what GitHub does not take; the key is named",
    "nul_in_command": "a command holds a NUL character",
    "nul_in_env": "a variable holds a NUL character",
    "permission_missing": "the App was not granted what the workflow needs; no model was called",
    "prompt_too_large": "the prompt does not fit; the three largest blocks are named, nothing was cut",
    "pull_request_branch": "the branch is the one that it would go to",
    "pull_request_title": "the title is empty",
    "quota_exhausted": "the provider's quota is used up; it is not tried again",
    "rejected": "a person said no, and no route says what follows",
    "resource_unavailable": "a resource cannot be used: a secret that it needs, its host, or its sort",
    "result_mismatch": "the result does not fit its declaration: the path, and what was expected there",
    "result_missing": "there is no result where one is declared and required",
    "review_findings": "`findings` is no list of `{path, line, body}`; each violation is named by its index",
    "review_thread": "the thread is an issue, so there is no pull request to review",
    "retry_refused": "`retry` cannot do what it was asked for; nothing was started",
    "rework_exhausted": "work was sent back as often as `rework.max_loops` allows",
    "run_timed_out": "the minutes of the run are over",
    "secret_unavailable": "there is no such secret here; whether it exists anywhere is not told",
    "too_many_frames": "lists within lists would open more frames than a run may have",
    "template_undefined": "a reference has no value and no `??`; the model was not called",
    "timeout": "the step did not end in its time",
    "too_large": "a value is larger than is passed on; the size and the way out are told",
    "tool_schema": "the schema of a tool's arguments is none that can be used",
    "tools_unsupported": "the agent is a program, which cannot be given tools",
    "transient": "a passing fault of the other side outlasted every retry",
    "unknown_provider": "the model's name names no provider",
    "unknown_runner": "no such runner",
    "unknown_tool": "the resource has no tool of that name; the nearest is suggested",
    "unknown_workflow": "the configuration no longer has what was asked for",
    "unsure": "GitHub did not say whether it was done, and it cannot be looked up",
    "wait_timed_out": "what a `wait` waits for did not happen in time",
    "writes_error": "the output lacks a key that `writes` names",
}

#: call → which of its arguments is the code
_FINDING_CALLS = {"fault": 0, "error": 1, "warning": 1, "_Stop": 1, "Fault": 0, "Finding": 4, "_finding": 1, "add": 2}
_FAILURE_CALLS = {
    "UserError": 0,
    "Failed": 0,
    "RouteFault": 0,
    "_failed": 1,
    "failed_instead": 1,
    "_exhausted": 1,
    "Route": 2,
}
#: modules that return findings as tuples of code, message and hint
_TUPLES = {"shape.py", "slots.py", "template.py", "yaml_faults.py"}


def findings() -> str:
    """What `threadsmith validate` and the bot say of a configuration."""
    return table(("code", "means"), [(code(name), FINDINGS[name]) for name in sorted(FINDINGS)])


def failures() -> str:
    """What a failed step says of itself."""
    return table(("code", "means"), [(code(name), FAILURES[name]) for name in sorted(FAILURES)])


def finding_codes() -> set[str]:
    """Every code of a finding in the source."""
    places = [*(ROOT / "bot/workflows").glob("*.py"), ROOT / "bot/cli/files.py"]
    places += [ROOT / f"bot/{room}/configuration.py" for room in ("github", "dispatch")]
    found = set(configuration._REFUSED)
    for place in places:
        tree = ast.parse(place.read_text(encoding="utf-8"))
        found.update(_called(tree, _FINDING_CALLS))
        if place.name in _TUPLES and place.parent.name == "workflows":
            found.update(_tuples(tree))
    return found


def failure_codes() -> set[str]:
    """Every code of a failed step in the source."""
    found: set[str] = set()
    for room in ("context", "engine", "runners", "steps", "workspace"):
        for place in (ROOT / "bot" / room).rglob("*.py"):
            found.update(_called(ast.parse(place.read_text(encoding="utf-8")), _FAILURE_CALLS))
    for name in ("answers", "template"):
        place = ROOT / f"bot/workflows/{name}.py"
        found.update(_called(ast.parse(place.read_text(encoding="utf-8")), _FAILURE_CALLS))
    for name in ("template", "answers"):
        tree = ast.parse((ROOT / f"bot/workflows/{name}.py").read_text(encoding="utf-8"))
        found.update(_called(tree, _FAILURE_CALLS))
    found.update(_second(ast.parse((ROOT / "bot/steps/run.py").read_text(encoding="utf-8"))))
    return found


def _called(tree: ast.AST, calls: Mapping[str, int]) -> Iterator[str]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        place = calls.get(name)
        given = [*node.args[place : place + 1]] if place is not None else []
        given += [keyword.value for keyword in node.keywords if keyword.arg == "code"]
        yield from (found for one in given if (found := _text(one)))


def _tuples(tree: ast.AST) -> Iterator[str]:
    """The code of `code, message, hint`, wherever it stands in a tuple."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Tuple) and len(node.elts) >= 3:
            for one, following in zip(node.elts, node.elts[1:], strict=False):
                if (found := _text(one)) and _is_sentence(following):
                    yield found
                    break


def _second(tree: ast.AST) -> Iterator[str]:
    """The code of `message, code`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Tuple) and len(node.elts) == 2 and _is_sentence(node.elts[0]):
            yield from filter(None, [_text(node.elts[1])])


def _text(node: ast.expr) -> str:
    given = node.value if isinstance(node, ast.Constant) else None
    return given if isinstance(given, str) and _CODE.fullmatch(given) else ""


def _is_sentence(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value
    )
