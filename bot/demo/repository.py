"""What the demo plays with, as data: `acme/widgets` with a failing check, its people, an issue's first comments."""

from __future__ import annotations

#: login and role; `acme` is the organisation that owns the repository
PEOPLE = {"ana": "write", "meg": "maintain", "sam": "read"}

BOT_YML = """\
# What the bot does here. It is read from the default branch: commit a change and mention the bot again.
version: 1
default: explain            # what `@bot …` runs where the first word names nothing below
history_comment_count: 5    # the newest comments that an agent sees; pins come on top of them

agents:
  reader:
    description: Answers questions about this repository.
    model: demo:helper      # rule-based; a real one: openai:gpt-5-mini
    prompt: |
      You help the maintainers of acme/widgets. Answer from what you are given and name what it rests on.
      A pinned comment is a decision: nothing that you propose may break it.

workflows:
  explain:
    description: Answers a question with the checks' newest output at hand.
    steps:
      - id: explain
        agent: reader
        inputs:             # the engine runs these immediately before the model is asked
          checks: {exec: "sh tests/run.sh || true", timeout: 30s}
          newest_commits: {exec: "git log --reverse --format='%h %an: %s' -3"}
  checks:
    description: Runs the checks and posts what they print.
    steps:
      - id: checks
        run: sh tests/run.sh || true
  implement:
    description: Plans a change, asks a maintainer about it, makes it and runs the checks.
    steps:
      - id: plan
        agent: reader
        inputs:
          checks: {exec: "sh tests/run.sh || true", timeout: 30s}
      - id: approve         # waits for a person: a tick, or a reply
        ask: Build this?
        show: "${{ steps.plan.output }}"
        options: {approve: build, revise: {rework: plan}, stop: end}
        rework: {to: plan, max_loops: 3}
        who: {role: maintain}
        timeout: 3d
      - id: build           # in the run's own clone, which goes when the run ends
        run: |
          sed 's/in \\*\\[/in ""|*[/' src/size.sh > size.new && mv size.new src/size.sh
          git diff -U0 src/size.sh | tail -2
          sh tests/run.sh
"""

BROKEN_YML = BOT_YML.replace("    model: demo:helper ", "    modle: demo:helper ")

SIZE_SH = """\
#!/bin/sh
# size.sh "10 KB": how many bytes that is. Bad input ends with exit code 2.
number=${1%% *} unit=${1#* }
case $number in *[!0-9]*) echo "size.sh: no size: $1" >&2; exit 2 ;; esac
case $unit in
  KB) echo $((number * 1000)) ;;
  MB) echo $((number * 1000000)) ;;
  *) echo $((number)) ;;
esac
"""

RUN_SH = """\
#!/bin/sh
# Every check; needs nothing but a shell.
cd "$(dirname "$0")/.." || exit 1
count=0 failed=""
check() { # what it is about, the argument, what must be printed, the exit code
  count=$((count + 1))
  said=$(sh src/size.sh "$2" 2>/dev/null) && code=0 || code=$?
  if [ "$said/$code" = "$3/$4" ]; then
    echo "ok $count - $1"
  else
    echo "not ok $count - $1: expected exit code $4, got $code and \\"$said\\""
    failed="$failed${failed:+, }$1"
  fi
}
check "plain bytes" "512" "512" 0
check "kilobytes" "10 KB" "10000" 0
check "megabytes" "3 MB" "3000000" 0
check "letters" "abc" "" 2
check "an empty size" "" "" 2
[ -z "$failed" ] && echo "all $count checks passed" && exit 0
echo "failed: $failed"
exit 1
"""

#: the first commit
FILES = {
    "README.md": '# widgets\n\n`src/size.sh "10 KB"` says how many bytes that is. `sh tests/run.sh` runs the checks.\n',
    "src/size.sh": SIZE_SH.replace("  MB) echo $((number * 1000000)) ;;\n", ""),
    "tests/run.sh": RUN_SH.replace('check "megabytes" "3 MB" "3000000" 0\n', ""),
    ".github/bot.yml": BOT_YML,
}
#: the second, by ana
MEGABYTES = {"src/size.sh": SIZE_SH, "tests/run.sh": RUN_SH}
MEGABYTES_MESSAGE = "Accept megabytes"

TITLE = "An empty size is taken for 0 bytes"
BODY = """\
Last night's import went through although one row of `orders.csv` had no size. It was billed as zero bytes.

```console
$ sh src/size.sh ""; echo "exit code $?"
0
exit code 0
```
"""
LABELS = ["bug"]

#: who, days before the demo starts, text; the first is what meg pins later
DECISION = (
    "Whatever we change here: **bad input must end with exit code 2**. The nightly import tells *skip this row* from "
    "*stop everything* by it, and three teams rely on that."
)
COMMENTS = (
    ("ana", 8.0, DECISION),
    ("sam", 7.8, "Good to know, thanks. For us a skipped row would be fine."),
    ("meg", 6.9, "I see it with 1.4 and on `main`. Older ones I did not try."),
    ("sam", 6.7, "1.2 said something like *no size*, I believe. We upgraded in March."),
    ("ana", 4.1, '`" KB"`, a unit with no number, does the same, by the way.'),
    ("meg", 3.2, "Then nobody checks that there is a number at all. Should be a small change."),
    ("sam", 2.2, "Can I help? I could try a branch on last month's files."),
    ("ana", 1.1, "That would be great, I will write here when there is one."),
)
