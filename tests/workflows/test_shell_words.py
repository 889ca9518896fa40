"""Where a value may stand in a command, held against bash itself."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.workflows.code_words import code_argument
from bot.workflows.shell_words import misplaced, quoted

BASH = "/bin/bash"


def reasons(text: str) -> list[str]:
    """`@` stands for a value."""
    return misplaced(text.replace("@", "\0"))


@pytest.mark.parametrize(
    "text",
    [
        "echo @",
        "echo a @ b",
        "echo @;",
        "echo @|cat",
        "echo @&&true",
        "echo @ # it's a comment",
        "echo 'a' \"b\" @",
        "echo 'it''s' @",
        'echo "$(cat "x y")" @',
        "echo `date` @",
        "echo ${x:-y} $((1 + (2))) @",
        "echo $'it\\'s' @",
        "echo a\\ b @",
        "echo a \\\n @",
        "echo a#b @",
        "echo > @",
        "echo 2>@ x",
        ">@ date",
        "cat <<< @",
        "cat <@",
        "(cd x && make @)",
        "{ make @; }",
        "if make @; then make @; fi",
        "for x in @ a; do echo $x; done",
        "case @ in a) echo 1;; esac",
        "cat <<EOF\nit's @text\nEOF\necho @".replace("@text", "text"),
        "cat <<'E' <<-F\n\"\nE\n\t`\n\tF\necho @",
        "echo $((1 << 2))\necho @",
        "A=1 make @",
        "make a &> log @",
        "bash -c 'echo \"$1\"' name @",
        "awk '{print}' @",
        "[ x = @ ]",
        "f() { make @; }",
        "command -v @",
        "timeout 5 make @",
        "sudo -u bob make @",
        "env A=1 make @",
        "git read @",
        "find . -name @",
        "awk -F , '{print}' @",
    ],
)
def test_a_word_of_its_own_is_taken(text: str) -> None:
    """Whole words outside everything, whatever stands before them."""
    assert set(reasons(text)) == {""}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("echo x@", "part of a word"),
        ("echo @x", "part of a word"),
        ("echo @@", "part of a word"),
        ("echo @'x'", "part of a word"),
        ("echo ''@", "part of a word"),
        ("echo @\\\nx", "part of a word"),
        ("echo x\\\n@", "part of a word"),
        ("echo $@", "part of a word"),
        ("echo a\\ @", "part of a word"),
        ("X=@ make", "part of a word"),
        ("echo a[@]", "part of a word"),
        ("echo '@'", "inside quotes"),
        ("echo ' @ '", "inside quotes"),
        ('echo " @ "', "inside quotes"),
        ('echo "a\\" @ "', "inside quotes"),
        ("echo $' @ '", "inside quotes"),
        ("echo $'\\' @ '", "inside quotes"),
        ('echo $" @ "', "inside quotes"),
        ("echo 'open @", "inside quotes"),
        ("echo \\@", "escaped"),
        ("echo $(cat @)", "substitution"),
        ('echo "$(cat @ )"', "substitution"),
        ("echo `cat @ `", "substitution"),
        ("echo ${x:- @ }", "substitution"),
        ("cat <(cat @ )", "substitution"),
        ("cat >(cat @ )", "substitution"),
        ("a=( @ )", "substitution"),
        ("(cd $(x @ ))", "substitution"),
        ("echo $(( @ ))", "arithmetic"),
        ("(( @ ))", "arithmetic"),
        ("# @", "comment"),
        ("echo x # @ ", "comment"),
        ("echo;# @", "comment"),
        ("cat <<E\n @ \nE", "heredoc"),
        ("cat <<'E'\n @ \nE", "heredoc"),
        ("cat <<-E\n\t @ \n\tE", "heredoc"),
        ("cat <<E\nE \n @ ", "heredoc"),
        ("cat << @\nx", "names the end of a heredoc"),
        ("@ x", "name of a command"),
        ("true; @", "name of a command"),
        ("true | @", "name of a command"),
        ("! @", "name of a command"),
        ("if @; then true; fi", "name of a command"),
        ("A=1 @", "name of a command"),
        (">x @", "name of a command"),
        ("2>x @", "name of a command"),
        ("( @ )", "name of a command"),
        ("f() { @; }", "name of a command"),
        ("exec env @", "name of a command"),
        ("eval @", "evaluated by `eval`"),
        ("eval echo @", "evaluated by `eval`"),
        (". @", "evaluated by `.`"),
        ("[[ @ -eq 1 ]]", "evaluated by `[[`"),
        ("test -v @", "evaluated by `test`"),
        ("export @", "evaluated by `export`"),
        ("builtin read @", "evaluated by `read`"),
        ("command let @", "evaluated by `let`"),
        ("command -p let @", "evaluated by `let`"),
        ("\\let @", "evaluated by `let`"),
        ('"let" @', "evaluated by `let`"),
        ("$'let' @", "evaluated by `let`"),
        ('$"let" @', "not certain"),
        ("$X @", "not certain"),
        ("{let,x} @", "not certain"),
        ("time -p let @", "evaluated by `let`"),
        ("a[1]=x let @", "evaluated by `let`"),
        ("{fd}>f let @", "evaluated by `let`"),
        ("for x do let @; done", "evaluated by `let`"),
        ("{ true; } then let @", "evaluated by `let`"),
        ("coproc N [[ -v @ ]]", "evaluated by `[[`"),
        ("eval do echo @", "evaluated by `eval`"),
        ("test -v $x @", "evaluated by `test`"),
        ('builtin printf "-v" @', "evaluated by `printf`"),
        ("wait -np @", "evaluated by `wait`"),
        ("compgen -W @", "evaluated by `compgen`"),
        ("env -u X @", "name of a command"),
        ("sudo -u root @", "name of a command"),
        ("exec -a n @", "name of a command"),
        ("timeout 5 @", "name of a command"),
        ("find . -exec @", "name of a command"),
        ("awk -F : @", "code for `awk`"),
        ("sed -n p -e @", "code for `sed`"),
        ("ssh host @", "code for `ssh`"),
        ("echo " + "x " * 80 + "@", "more words"),
        ("echo " + "x " * 80 + ">f @", "more words"),
        ("bash -c @", "code for `bash`"),
        ("/usr/bin/env python3 -Ic @", "code for `python3`"),
        ("timeout 5 sh -ec @", "code for `sh`"),
        ("node --eval @", "code for `node`"),
        ("sed @", "code for `sed`"),
        ("echo `'` @ '", "followed with certainty"),
        ('echo "${x:-\'}" @ \'"', "followed with certainty"),
        ('echo "$(case x in a) echo "b" ;; esac)" @', "followed with certainty"),
        ("echo $[ 1 ] @", "followed with certainty"),
        ("cat <<\\E\nx\nE\necho @", "heredoc"),
        ("cat <<$E\nx\n$E\necho @", "followed with certainty"),
    ],
)
def test_anything_else_is_refused_with_its_reason(text: str, reason: str) -> None:
    """Each way in which a value would be code, or might be, has a name."""
    found = reasons(text)
    assert reason in found[0], found


def test_each_value_has_its_own_reason() -> None:
    """They come in the order of the text."""
    assert [bool(one) for one in reasons("echo @ '@' @ x@ @")] == [False, True, False, True, False]


def test_words_behind_the_code_are_data() -> None:
    """The argument that holds the code is the author's; later ones are variables."""
    assert code_argument(["bash", "-c"])
    assert code_argument(["bash", "-c", "-x"])
    assert not code_argument(["bash", "-c", 'echo "$1"'])
    assert not code_argument(["bash", "script.sh"])
    assert code_argument(["deno", "eval"])


@pytest.mark.parametrize("value", ["", "a b", "it's", "\\", "$(x)`y`", "a\nb", "\n'\\n\\", "~", "*", "é\r\t", "{a,b}"])
def test_a_quoted_value_is_one_word_with_that_value(value: str) -> None:
    """bash gives back what went in, on one line of its text."""
    word = quoted(value)
    assert "\n" not in word
    out = subprocess.run([BASH, "-c", f"printf '%s|' {word} x"], capture_output=True, check=True, timeout=10).stdout
    assert out.decode() == f"{value}|x|"


SYNTAX = """' " ` $( ) ( (( )) ${ } ${a:- ${a# \\ <<E <<'E' <<-E <<< $' $" ; && x = a=( [ ] $[ $(( > 2> &> f() # case in
a) ;; esac echo : [[ ]] { ;} if then fi"""
PIECES = st.sampled_from(
    [
        *SYNTAX.split(),
        *(f" {one} " for one in SYNTAX.split()),
        " ",
        "\n",
        "\t",
        "|",
        "\\\n",
        "\nE\n",
        "\0",
        " \0",
        *[" \0 "] * 16,
    ]
)
#: would leave a file behind if any part of it were read as code
HOSTILE = "x\n: >canary\n';: >canary;'\";: >canary;\"$(: >canary)`: >canary`)}]\n)\nE\n: >canary\n;;: >canary # \\"


@settings(max_examples=200, deadline=None)
@given(st.lists(PIECES, min_size=2, max_size=12).map("".join))
def test_bash_never_runs_what_was_taken(tail: str) -> None:
    """Whatever the command, valid or not: a value that `misplaced` lets in is never code."""
    text = f" echo a {tail}"
    if any(misplaced(text)):
        return
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [BASH, "-c", text.replace("\0", quoted(HOSTILE))],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=10,
            env={"PATH": "/nonexistent"},
            check=False,
        )
        assert not (Path(folder) / "canary").exists()


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES | st.characters(exclude_categories=["Cs"]), max_size=20).map("".join))
def test_every_value_gets_an_answer(text: str) -> None:
    """One reason for each value, in any text at all."""
    assert len(misplaced(text)) == text.count("\0")


EVALUATING = """builtin command exec env time -p "let" $'let' l\\et let read unset export declare test [ -v printf wait
-p eval do then f() {fd}>f A=1 a[1]=x [[ ]] compgen -W hash xargs nohup coproc $x {let,x} -- -n mapfile getopts ; | {"""


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from([*EVALUATING.split(), *["\0"] * 8]), min_size=2, max_size=6).map(" ".join))
def test_bash_never_evaluates_what_was_taken(text: str) -> None:
    """Whatever prefixes and builtins stand before it: a subscript with a command in it is not run."""
    if "\0" not in text or any(misplaced(text)):
        return
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [BASH, "-c", text.replace("\0", quoted("a[$(: >canary)]"))],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=10,
            env={"PATH": "/usr/bin:/bin"},
            check=False,
        )
        assert not (Path(folder) / "canary").exists()
