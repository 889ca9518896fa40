"""Every kind of step end to end: comment in; comments, labels, reviews and pull requests out."""

from __future__ import annotations

import json
from pathlib import Path

from tests.stage import open_stage

HEAD = """\
version: 1
agents:
  echo: {model: "demo:echo", prompt: You repeat.}
workflows:
"""

FAN = f"""{HEAD}
  fan:
    steps:
      - id: find
        run: |
          echo '{{"files": [{{"name": "b.py"}}, {{"name": "a.py"}}]}}' > "$BOT_RESULT_FILE"
        publish: false
      - id: check
        each: {{over: "${{{{ steps.find.result.files }}}}", key: name, as: file}}
        run: echo "checked $FILE of $PLACE"
        env: {{FILE: "${{{{ file.name }}}}", PLACE: "${{{{ loop.index }}}}"}}
        publish: false
      - id: both
        parallel:
          branches:
            left: [{{id: l, run: echo left}}]
            right: [{{id: r, run: echo right}}]
        publish: false
      - id: sum
        code: |
          print("sorted:", ", ".join(sorted(found)))
          return {{"count": len(found), "branches": branches}}
        inputs:
          found: "${{{{ steps.check.result }}}}"
          branches: "${{{{ steps.both.result }}}}"
      - id: told
        end: {{message: "${{{{ steps.sum.output }}}} and ${{{{ steps.sum.result.branches.left }}}}"}}
"""


async def test_fan_out_and_join(tmp_path: Path) -> None:
    """Elements, branches, a body of code that takes both, and the end that tells."""
    async with open_stage(tmp_path, {".github/bot.yml": FAN}) as stage:
        asked = await stage.says("ana", "@bot fan")
        (told,) = stage.replies()
        assert told.startswith("sorted: a.py, b.py\n and left")
        assert stage.reactions(asked) == ["rocket"]


TRIAGE = f"""{HEAD}
  triage:
    steps:
      - id: sort
        classify:
          text: "${{{{ issue.title }}}}: ${{{{ issue.body }}}}"
          labels: {{bug: Something is broken., question: Somebody asks.}}
          by: echo
        publish: false
      - id: mark
        notify:
          labels: {{add: ["${{{{ steps.sort.result.label }}}}", triaged]}}
          assign: [meg]
          comment: "This is a ${{{{ steps.sort.output }}}}."
"""


async def test_classify_and_notify(tmp_path: Path) -> None:
    """The label lands on the issue, with an assignee and a comment."""
    async with open_stage(tmp_path, {".github/bot.yml": TRIAGE}) as stage:
        asked = await stage.says("ana", "@bot triage")
        issue = stage.world.issue(stage.repo, 1)
        assert stage.reactions(asked) == ["rocket"], stage.replies()
        assert sorted(label.name for label in issue.labels) == ["bug", "triaged"]
        assert [user.login for user in issue.assignees] == ["meg"]
        assert [reply.split("\n")[0] for reply in stage.replies()] == ["This is a bug."]


USES = f"""{HEAD}
  outer:
    steps:
      - id: inner
        uses: inner
        inputs: {{size: 3}}
        publish: false
      - {{id: told, end: {{message: "got ${{{{ steps.inner.result.doubled }}}}"}}}}
  inner:
    inputs: {{size: {{type: number}}}}
    export: {{from: [double]}}
    steps:
      - id: double
        code: 'return {{"doubled": size * 2}}'
        inputs: {{size: "${{{{ inputs.size }}}}"}}
"""


async def test_a_workflow_that_is_used(tmp_path: Path) -> None:
    """Typed inputs go in, the export comes out."""
    async with open_stage(tmp_path, {".github/bot.yml": USES}) as stage:
        await stage.says("ana", "@bot outer")
        (told,) = stage.replies()
        assert told.startswith("got 6"), told


GATE = f"""{HEAD}
  plan:
    steps:
      - {{id: plan, agent: echo, prompt: "Plan: ${{{{ trigger.text ?? 'all' }}}}", publish: false}}
      - {{id: ok, ask: Build it?, show: "${{{{ steps.plan.output }}}}"}}
      - {{id: build, run: echo built}}
"""


async def test_a_gate_is_posted_and_waits(tmp_path: Path) -> None:
    """The question stands in the thread; other requests go on meanwhile."""
    async with open_stage(tmp_path, {".github/bot.yml": GATE}) as stage:
        await stage.says("ana", "@bot plan things")
        (gate,) = stage.replies()
        assert "Build it?" in gate
        assert "- [ ] approve" in gate
        await stage.says("ana", "@bot echo hello")
        assert len(stage.replies()) == 2
        assert json.dumps(stage.replies())


async def test_a_request_sets_its_own_budget(tmp_path: Path) -> None:
    """What it may cost is the smallest of all limits; a word that is no amount starts nothing."""
    async with open_stage(tmp_path, {".github/bot.yml": FAN}) as stage:
        await stage.says("ana", "@bot fan minutes=0")
        assert "`timed_out`" in stage.replies()[-1]
        await stage.says("ana", "@bot fan usd=lots")
        assert "`type_mismatch`: `usd` is an amount" in stage.replies()[-1]


ELEMENTS = f"""{HEAD}
  look:
    steps:
      - id: look
        each: {{over: [one, two]}}
        run: echo "saw $I"
        env: {{I: "${{{{ item }}}}"}}
"""


async def test_elements_are_posted_as_headings_and_blocks(tmp_path: Path) -> None:
    """Not as one block that shows its own marks."""
    async with open_stage(tmp_path, {".github/bot.yml": ELEMENTS}) as stage:
        await stage.says("ana", "@bot look")
        (told,) = stage.replies()
        assert told.startswith("### 0\n\n```text\nsaw one\n```\n\n### 1\n\n```text\nsaw two\n```"), told


UNEXPORTED = f"""{HEAD}
  give:
    export: {{from: [late]}}
    steps:
      - {{id: first, run: echo one, next: [{{when: "outcome == 'fail'", to: late}}, {{to: end}}]}}
      - {{id: late, run: echo two}}
"""


async def test_a_run_without_its_export_says_what_to_do(tmp_path: Path) -> None:
    """An end that no step decided has a hint too."""
    async with open_stage(tmp_path, {".github/bot.yml": UNEXPORTED}) as stage:
        await stage.says("ana", "@bot give")
        assert "`export_missing`" in stage.replies()[-1]
        assert "go through `late`, or set `required: false`" in stage.replies()[-1]
