"""Where the bots of an episode live and die: a world with threads to be spoken in, and what a bot is set up with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bot.demo.records import App, Installation, Pull, Repository
from bot.demo.world import World
from bot.publish import Marker
from tests.faults.haste import Haste
from tests.stage import SECRET, app_key

#: threads that are there from the beginning
ISSUES = 4
FINDINGS = """\
{"found": [
  {"path": "size.py", "line": 1, "body": "Say why.", "suggestion": "pass  # nothing to do"},
  {"path": "README.md", "line": 1, "body": "Old."}
]}
"""
BOT_YML = """\
version: 1
limits: {per_actor_day: {dispatches: 10000}, per_issue_day: {dispatches: 10000}, per_repo_day: {dispatches: 10000}}
agents:
  echo: {model: "demo:echo", prompt: You repeat.}
workflows:
  three:
    steps:
      - {id: one, run: "echo one"}
      - {id: two, run: "echo two"}
      - {id: three, agent: echo}
  apart:
    steps:
      - id: both
        parallel:
          branches:
            left: [{id: a, run: "echo a"}]
            right: [{id: b, run: "echo b"}]
      - {id: after, agent: echo}
  gated:
    steps:
      - {id: first, run: "echo what is planned"}
      - id: approve
        ask: Go on?
        show: "${{ steps.first.output }}"
        options: {approve: build, stop: end}
        who: {role: maintain, dashboard: true}
        timeout: 30d
        on_timeout: stop
      - {id: build, agent: echo}
  broken:
    steps:
      - {id: it, run: "echo it did not work; exit 3"}
  slow:
    steps:
      - {id: it, run: "sleep 3000", timeout: 2h}
  lazy:
    steps:
      - {id: it, run: "sleep 0.7"}
      - {id: then, agent: echo}
  nightly:
    on: {schedule: {cron: "*/10 * * * *", thread: 1}}
    steps:
      - {id: it, run: "echo every night"}
  weekly:
    on: {schedule: {cron: "*/15 * * * *", thread: new}}
    steps:
      - {id: it, run: "echo every week"}
  synced:
    on: {synchronize: true}
    steps:
      - {id: it, run: "echo pushed"}
  waits:
    steps:
      - {id: w, wait: {event: labeled}}
      - {id: then, agent: echo}
  checked:
    steps:
      - {id: w, wait: {event: checks_completed}}
      - {id: then, agent: echo}
  filed:
    inputs: {spec: {type: file}}
    steps:
      - {id: it, run: 'cat "$SPEC"', env: {SPEC: "${{ inputs.spec.path }}"}}
  assigns:
    steps:
      - id: it
        notify: {assign: [nobody-here]}
  sort:
    params: {label: which}
    steps:
      - id: mark
        notify: {labels: {add: ["${{ params.label }}"]}}
  labelled:
    on: {labeled: [ready]}
    steps:
      - {id: it, run: "echo labelled"}
  look:
    steps:
      - id: find
        run: cat findings.json > "$BOT_RESULT_FILE"
        result: {fields: {found: {type: json, required: true}}}
        publish: false
      - id: review
        review: {findings: "${{ steps.find.result.found }}", body: "Looked at it."}
"""


@dataclass(frozen=True)
class Place:
    """A world of one episode. People: ana (write), meg (maintain), sam (read), in `acme/widgets`."""

    world: World
    repo: Repository
    pull: Pull
    app: App
    installation: Installation
    marker: Marker
    folder: Path
    haste: Haste

    def environ(self, slot: int, database: str) -> dict[str, str]:
        """What the bot of a slot is configured with; each has a data folder of its own."""
        environ = {
            "BOT_GITHUB_URL": self.world.api_url,
            "BOT_GITHUB_APP_ID": str(self.app.id),
            "BOT_GITHUB_APP_SLUG": self.app.slug,
            "BOT_GITHUB_PRIVATE_KEY": self.app.private_key,
            "BOT_GITHUB_WEBHOOK_SECRET": SECRET,
            "BOT_ALLOWED_OWNERS": "acme",
            "BOT_DATA_DIR": str(self.folder / f"data{slot}"),
            "BOT_DATABASE_URL": database,
            "BOT_DEFAULT_MODEL": "demo:echo",
            "BOT_SANDBOX": "off",
            "BOT_MARKER_KEY": "a key of the tests",
            "BOT_WORKERS": "4",
        }
        return {name: value for name, value in environ.items() if value}


def make_place(folder: Path, haste: Haste) -> Place:
    """The world of an episode, with some issues and a pull request."""
    world = World(folder / "github", clock=haste)
    world.add_user("acme", type="Organization")
    for login in ("ana", "meg", "sam"):
        world.add_user(login)
    repo = world.add_repository("acme", "widgets", {"README.md": "# widgets\n", ".github/bot.yml": BOT_YML})
    world.set_role(repo, "ana", "write")
    world.set_role(repo, "meg", "maintain")
    world.set_role(repo, "sam", "read")
    attic = world.add_repository("acme", "attic", {"README.md": "# attic\n"})
    world.archive_repository(attic)
    app = world.add_app("bot", "acme", webhook_secret=SECRET, private_key=app_key())
    with world.silence():
        installation = world.install(app, "acme")
        # schedules are in the name of whoever changed the configuration last
        world.write_file(repo, ".github/bot.yml", f"{BOT_YML}# meg's\n", "meg")
        for number in range(ISSUES):
            world.open_issue(repo, "sam", f"Crash {number}", "It crashes.")
        files = {"size.py": "pass\n", "findings.json": FINDINGS}
        world.write_files(repo, files, "meg", "Take nothing for 0", branch="fix")
        pull = world.open_pull(repo, "meg", "Take nothing for 0", head="fix")
    return Place(world, repo, pull, app, installation, Marker([b"a key of the tests"]), folder, haste)
