"""A base below a repository's own configuration: who wins, what comes along, and where a fault is found."""

from __future__ import annotations

from typing import Any

import pytest

from bot.finding import Finding
from bot.workflows.configuration import Configuration, check
from bot.workflows.extends import extends_of, merge_base
from bot.workflows.findings import Findings
from bot.workflows.loader import load

SOURCE = "acme/.github@main"
BASE_YML, FOLDER = f"{SOURCE}:.github/bot.yml", f"{SOURCE}:.github/bot"
OWN = "version: 1\nextends: acme/.github@main\n"
BASE = """version: 1
history_comment_count: 9
mention: ["@robo", "@bot"]
limits: {per_run: {usd: 1, tokens: 1000}}
agents:
  triage: {model: "demo:x", prompt: prompts/triage.md, description: of the base}
  coder: {model: "demo:y", prompt: "${{ issue.title }}"}
workflows:
  both: {steps: [{id: a, agent: triage}]}
"""


def files(own: str = OWN, base: str = BASE, **more: str) -> dict[str, str]:
    """A repository's files; those of the base begin with `BASE_`, slashes are `__`."""
    found = {".github/bot.yml": own, f"{SOURCE}:.github/bot.yml": base}
    found[f"{SOURCE}:.github/bot/prompts/triage.md"] = "Base: ${{ issue.body }}"
    for name, text in more.items():
        path = name.removeprefix("BASE_").replace("__", "/").replace("_yml", ".yml").replace("_md", ".md")
        found[f"{SOURCE}:.github/bot/{path}" if name.startswith("BASE_") else f".github/bot/{path}"] = text
    return found


def good(given: dict[str, str]) -> Configuration:
    configuration, findings = check(given)
    assert configuration is not None, findings
    return configuration


def faults(given: dict[str, str]) -> list[Finding]:
    configuration, findings = check(given)
    assert configuration is None
    return list(findings)


def test_keys_of_the_repository_win_and_lists_replace() -> None:
    """Mappings merge at every depth; what neither says has its default."""
    own = OWN + "mention: ['@mine']\nlimits: {per_run: {usd: 3}}\nagents: {triage: {description: of the repository}}\n"
    bot = good(files(own)).bot
    assert (bot.history_comment_count, bot.mention, bot.default) == (9, ("mine",), "ask")
    assert (bot.limits.per_run.usd, bot.limits.per_run.tokens, bot.limits.per_run.minutes) == (3, 1000, 60)
    assert set(bot.agents) == {"triage", "coder"}
    assert (bot.agents["triage"].description, bot.agents["triage"].model) == ("of the repository", "demo:x")


def test_the_smallest_file_takes_everything() -> None:
    """The version too."""
    configuration = good(files("extends: acme/.github@main\n"))
    assert configuration.names() == ("both", "coder", "triage")
    assert configuration.bot.extends == SOURCE


def test_files_come_along_and_own_paths_win() -> None:
    """Prompts and workflows; a prompt of the repository's serves an agent of the base."""
    system = good(files()).agents["triage"].system
    assert system is not None
    assert system.text.startswith("Base:")
    given = files(
        prompts__triage_md="Own",
        BASE_workflows__one_yml="steps: [{id: a, agent: coder}]",
        BASE_workflows__two_yml="description: of the base\nsteps: [{id: a, agent: coder}]",
        workflows__two_yml="description: own\nsteps: [{id: b, agent: triage}]",
    )
    configuration = good(given)
    system = configuration.agents["triage"].system
    assert system is not None
    assert system.text == "Own"
    assert set(configuration.workflows) == {"both", "one", "two"}
    assert configuration.workflows["two"].description == "own"


@pytest.mark.parametrize(
    ("own", "more", "name"),
    [
        ("agents: {one: {model: 'demo:z'}}", {"BASE_workflows__one_yml": "steps: [{id: a, agent: coder}]"}, "one"),
        ("workflows: {one: {steps: [{id: b, run: 'true'}]}}", {"BASE_workflows__one_yml": "steps: []"}, "one"),
        ("", {"workflows__both_yml": "steps: [{id: b, run: 'true'}]"}, "both"),
        ("", {"workflows__coder_yml": "steps: [{id: b, run: 'true'}]"}, "coder"),
        ("", {"workflows__x_yml": "name: one\nsteps: [{id: b, run: 'true'}]",
              "BASE_workflows__one_yml": "steps: [{id: a, agent: coder}]"}, "one"),
    ],
)  # fmt: skip
def test_a_name_of_the_repository_s_own_takes_that_of_the_base(own: str, more: dict[str, str], name: str) -> None:
    """Whether agent or workflow, in `bot.yml` or in a file of its own."""
    given = files(OWN + own, **{k: v.replace("steps: []", "steps: [{id: a, agent: coder}]") for k, v in more.items()})
    configuration = good(given)
    workflow = configuration.workflow_for(name)
    assert workflow is not None
    assert workflow.mark.file.startswith(".github/")
    assert not (name in configuration.agents and name in configuration.workflows)


@pytest.mark.parametrize(
    ("given", "file", "line", "column", "code"),
    [
        (files(base=BASE + "nonsense: 1\n"), BASE_YML, 10, 1, "unknown_key"),
        (files(OWN + "nonsense: 1\n"), ".github/bot.yml", 3, 1, "unknown_key"),
        (files(base=BASE + "default: [a]\n"), BASE_YML, 10, 1, "type_mismatch"),
        (files(OWN + "agents: {coder: {max_tokens: -1}}\n"), ".github/bot.yml", 3, 30, "range"),
        (files(OWN + "agents: {coder: {runner: {exec: [a]}}}\n"), ".github/bot.yml", 3, 10, "one_of"),
        (files(base=BASE.replace("issue.title", "isue.title")), BASE_YML, 7, 37, "namespace"),
        (
            files(base=BASE.replace("prompts/triage", "prompts/gone")),
            BASE_YML,
            6,
            37,
            "missing_file",
        ),
        (
            files(BASE_prompts__triage_md="a\n${{ nope.a }}"),
            f"{FOLDER}/prompts/triage.md",
            2,
            1,
            "namespace",
        ),
        (files(prompts__triage_md="${{ nope.a }}"), ".github/bot/prompts/triage.md", 1, 1, "namespace"),
        (files(BASE_workflows__w_yml="steps: 5"), f"{FOLDER}/workflows/w.yml", 1, 8, "type_mismatch"),
        (files(BASE_workflows__w_yml="steps: ["), f"{FOLDER}/workflows/w.yml", 2, 1, "yaml_syntax"),
        (
            files(BASE_workflows__W_yml="steps: [{id: a, run: b}]"),
            f"{FOLDER}/workflows/W.yml",
            1,
            1,
            "name",
        ),
        (files(base="[]"), BASE_YML, 1, 1, "type_mismatch"),
        (files(base="a: ["), BASE_YML, 2, 1, "yaml_syntax"),
        (files(base=f"version: 1\nextends: {SOURCE}\n"), BASE_YML, 2, 1, "extends"),
        (files(base="version: 1\nextends: 5\n"), BASE_YML, 2, 1, "extends"),
    ],
)
def test_findings_name_the_right_file(given: dict[str, str], file: str, line: int, column: int, code: str) -> None:
    """With line and column there."""
    (found,) = faults(given)
    assert (found.file, found.line, found.column, found.code) == (file, line, column, code)


def test_without_its_base_a_configuration_is_none() -> None:
    """Never half of it; the place is where it says so."""
    own = {".github/bot.yml": OWN + "agents: {a: {model: 'demo:x'}}\n"}
    (found,) = faults(own)
    assert (found.line, found.column, found.code) == (2, 10, "extends")
    assert "`acme/.github@main` was not read" in found.message
    assert "--base PATH" in found.hint
    (found,) = faults({**own, f"{SOURCE}:.github/bot/prompts/a.md": "x"})
    assert found.code == "extends"


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ("acme/.github@main", ("acme", "main")),
        ("acme/.github@release/1.0", ("acme", "release/1.0")),
        ("a-b/.github@" + "c0ffee" * 6 + "c0ff", ("a-b", "c0ffee" * 6 + "c0ff")),
        ("acme/.github", None),
        ("acme/.github@", None),
        ("acme/tools@main", None),
        ("-acme/.github@main", None),
        ("acme/.github@a..b", None),
        ("acme/.github@/a", None),
        ("acme/.github@a b", None),
        ("acme/.github@a:b", None),
        ("https://github.com/acme/.github@main", None),
        ("[acme/.github@main]", None),
        ("5", None),
    ],
)
def test_forms(value: str, read: tuple[str, str] | None) -> None:
    """An owner, the one repository, and a ref; anything else is a finding at the value."""
    text = f"version: 1\nextends: {value}\n"
    found = extends_of({".github/bot.yml": text}, ".github/bot.yml")
    if read is not None:
        assert found is not None
        assert (found.owner, found.ref, found.mark.line, found.mark.column) == (*read, 2, 10)
        return
    told = faults({".github/bot.yml": text})
    assert [(each.code, each.line) for each in told] in ([("extends", 2)], [("type_mismatch", 2)])


def test_nothing_is_extended() -> None:
    """Neither without the key nor in a file that cannot be read; a base's files alone change nothing."""
    for text in ("version: 1\n", "# extends: acme/.github@main\n", "extends: [", "- extends", ""):
        assert extends_of({".github/bot.yml": text}, ".github/bot.yml") is None
    assert extends_of({}, ".github/bot.yml") is None


def test_places_follow_the_values() -> None:
    """Of each part in the file that it came from; of what is in neither, in the repository's own."""

    def document(file: str, text: str) -> Any:
        found = load(file, text, Findings())
        assert found is not None
        return found

    own = document("own", "a:\n  x: 1\n  l: [1]\n")
    base = document("base", "\na:\n  y: {z: '${{ q }}'}\n  l: [5, 6]\nb: 7\n")
    merged = merge_base(base, own)
    assert merged.data == {"a": {"y": {"z": "${{ q }}"}, "l": [1], "x": 1}, "b": 7}
    places = {
        ("a",): ("own", 1), ("a", "x"): ("own", 2), ("a", "l", 0): ("own", 3), ("a", "y"): ("base", 3),
        ("a", "y", "z"): ("base", 3), ("b",): ("base", 5), ("c",): ("own", 1), ("a", "l", 1): ("own", 3),
    }  # fmt: skip
    for path, place in places.items():
        assert (merged.key_mark(path).file, merged.key_mark(path).line) == place, path
        assert merged.mark(path).file == place[0]
    assert merged.token_marks(("a", "y", "z"), "${{ q }}")(0).column == 11
    assert (merged.has(("a", "y", "z")), merged.has(("c",))) == (True, False)
