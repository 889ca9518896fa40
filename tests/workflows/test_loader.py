"""YAML: what is read, what is refused, and where it stands."""

from __future__ import annotations

import time

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.finding import Finding
from bot.workflows import loader
from bot.workflows.document import Document
from bot.workflows.findings import Findings


def read(text: str) -> tuple[Document | None, tuple[Finding, ...]]:
    findings = Findings()
    return loader.load("a.yml", text, findings), findings.sorted()


def document(text: str) -> Document:
    found, findings = read(text)
    assert found is not None, findings
    return found


def refused(text: str) -> tuple[str, int, int]:
    found, findings = read(text)
    assert found is None
    assert findings[0].file == "a.yml"
    assert findings[0].hint
    return findings[0].code, findings[0].line, findings[0].column


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("on", "on"),
        ("yes", "yes"),
        ("No", "No"),
        ("off", "off"),
        ("y", "y"),
        ("true", True),
        ("False", False),
        ("tRue", "tRue"),
        ("null", None),
        ("~", None),
        ("", None),
        ("2020-01-01", "2020-01-01"),
        ("12:30:45", "12:30:45"),
        ("1_000", "1_000"),
        ("010", 10),
        ("0o17", 15),
        ("0x1F", 31),
        ("-7", -7),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("1.", 1.0),
        ("+", "+"),
        ("1.2.3", "1.2.3"),
        ("'1'", "1"),
        ('"true"', "true"),
        ("! 1", "1"),
        ("!!str 1", "1"),
        ("!!float 1", 1.0),
        ("!!int 1", 1),
        ("!!bool true", True),
        ("!!null ~", None),
        ("!!seq [1]", [1]),
        ("!!map {a: 1}", {"a": 1}),
    ],
)
def test_scalars_mean_what_yaml_1_2_says(text: str, value: object) -> None:
    """Only true and false are booleans; nothing is a date; tags of the core schema hold."""
    found = document(f"a: {text}").data["a"]
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "code", "line", "column"),
    [
        ("a: 1\nb: 2\na: 3", "yaml_duplicate_key", 3, 1),
        ("a: {b: 1, b: 1}", "yaml_duplicate_key", 1, 11),
        ("a:\n\tb: 1", "yaml_tab", 2, 1),
        ("a:\n  - b\n  \t- c: 1", "yaml_tab", 3, 3),
        ("a: 1\n---\nb: 2", "yaml_documents", 2, 1),
        ("1: a", "yaml_key", 1, 1),
        ("true: a", "yaml_key", 1, 1),
        ("a:\n  ~: b", "yaml_key", 2, 3),
        ("? [a]\n: b", "yaml_key", 1, 3),
        ("a: {{b: 1}: 2}", "yaml_key", 1, 5),
        ("a: &x b\n*x : 1", "yaml_key", 2, 1),
        ("a: &x {b: 1}\nc:\n  <<: *x", "yaml_merge", 3, 3),
        ("a: &x [*x]", "yaml_alias", 1, 8),
        ("a: &x {b: {c: *x}}", "yaml_alias", 1, 15),
        ("a: &x [1]\nb: &x [*x]", "yaml_alias", 2, 8),
        ("a: *nothing", "yaml_alias", 1, 4),
        ("a: !python/object:os.system x", "yaml_tag", 1, 4),
        ("a: !!int x", "yaml_tag", 1, 4),
        ("a: !!int true", "yaml_tag", 1, 4),
        ("a: !!binary aGk=", "yaml_tag", 1, 4),
        ("a: !!set {b}", "yaml_tag", 1, 4),
        ("a: .inf", "yaml_number", 1, 4),
        ("a: -.inf", "yaml_number", 1, 4),
        ("a: .nan", "yaml_number", 1, 4),
        ("a: 1e999", "yaml_number", 1, 4),
        pytest.param("a: " + "9" * 5000, "yaml_number", 1, 4, id="many digits"),
        ("a: x\0y", "yaml_character", 1, 5),
        ("é: ok\na: \ud800", "yaml_character", 2, 4),
        ("m: [@bot]", "yaml_syntax", 1, 5),
        ("a: 'x\nb: 1", "yaml_syntax", 1, 4),
        ("a: b: c", "yaml_syntax", 1, 5),
        ("a: {x: ${{ y }}}", "yaml_syntax", 1, 9),
        ("[" * 51 + "]" * 51, "yaml_depth", 1, 51),
        pytest.param("a: " + "x" * loader.FILE_BYTES_MAX, "yaml_size", 1, 1, id="large"),
    ],
)
def test_refusals_name_the_place(text: str, code: str, line: int, column: int) -> None:
    """Each fault has its code, its line and column, and a hint."""
    assert refused(text) == (code, line, column)


def test_the_hint_for_a_tab_says_what_to_do() -> None:
    """A tab is explained in words."""
    assert read("a:\n\tb: 1")[1][0].hint == "indent with spaces, two a level"


def test_several_faults_are_told_together() -> None:
    """Faults that leave the rest readable do not hide the others."""
    assert [one.code for one in read("a: 1\na: 2\n3: x\nb: .inf\nc: !x y")[1]] == [
        "yaml_duplicate_key",
        "yaml_key",
        "yaml_number",
        "yaml_tag",
    ]


def test_fifty_levels_are_allowed() -> None:
    """The bound is inclusive."""
    assert document("[" * 50 + "]" * 50).data


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? "])
def test_deep_nesting_ends_early(opening: str) -> None:
    """However deep the text, the answer is a finding."""
    assert refused(opening * 60_000)[0] in ("yaml_depth", "yaml_key")


def test_an_alias_bomb_is_refused_quickly() -> None:
    """Ten levels of ten aliases would be ten thousand million nodes."""
    lines = ["a0: &a0 [" + ", ".join(["x"] * 10) + "]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 11)]
    start = time.perf_counter()
    assert refused("\n".join(lines)) == ("yaml_alias", 4, 45)
    assert time.perf_counter() - start < 1


def test_aliases_expand_to_at_most_ten_thousand_nodes() -> None:
    """The bound counts what aliases stand for, and is inclusive."""
    base = "a: &a [" + ", ".join(["x"] * 99) + "]\nb:\n"  # 100 nodes
    assert len(document(base + "  - *a\n" * 100).data["b"]) == 100
    assert refused(base + "  - *a\n" * 101)[0] == "yaml_alias"


def test_aliases_cannot_nest_deeper_than_text() -> None:
    """A chain of aliases counts its levels as if it were written out."""
    lines = ["a0: &a0 [x]"] + [f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 60)]
    assert refused("\n".join(lines)) == ("yaml_depth", 50, 12)


def test_an_alias_has_the_value_and_its_own_place() -> None:
    """The value is the anchor's; what is inside it stands where it was written."""
    found = document("a: &x\n  b: 1\nc: *x")
    assert found.data == {"a": {"b": 1}, "c": {"b": 1}}
    assert found.value(("c",)) == (3, 4)
    assert found.value(("c", "b")) == (2, 6)


def test_anchors_on_keys_and_scalars() -> None:
    """Whatever has an anchor can be repeated."""
    assert document("&k a: &v 5\nb: *v\nc: *k").data == {"a": 5, "b": 5, "c": "a"}


def test_keys_and_values_have_places() -> None:
    """Lines and columns count from 1, in characters; a byte order mark does not count."""
    found = document("\ufeffé: {ü: [x, y]}\nb:\n  - c: 1\n")
    assert found.key(("é",)) == (1, 1)
    assert found.value(("é", "ü")) == (1, 8)
    assert found.key(("é", "ü")) == (1, 5)
    assert found.value(("é", "ü", 1)) == (1, 12)
    assert found.key(("b", 0)) == (3, 5)
    assert str(found.mark(("b", 0, "c"))) == "a.yml line 3"
    assert found.mark(("b", 0, "c")).column == 8


def test_a_missing_key_stands_where_its_owner_does() -> None:
    """What is not there is looked for at the nearest thing above it."""
    found = document("a:\n  b: 1")
    assert found.key(("a", "zz")) == (1, 1)
    assert found.value(("a", "zz", 3)) == (2, 3)


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ('a: "x ${{ b }}"', 1, 7),
        ("a: |\n  one\n   two ${{ b }}\n", 3, 8),
        ("a: >-\n\n    one\n    two ${{ b }}", 4, 9),
        ("a: one\n   two ${{ b }}", 2, 8),
        ("\ufeffa: ${{ b }}", 1, 4),
        ("a: 'é ''x'' ${{ b }}'", 1, 13),
        ('a: "\\u00e9 ${{ b }}"', 1, 12),
        # an escape hides the token from the text: the place of the scalar serves
        ('a: "x \\x24{{ b }}"', 1, 4),
    ],
)
def test_a_token_has_its_place_inside_the_scalar(text: str, line: int, column: int) -> None:
    """Folding, indentation and escapes do not move it."""
    found = document(text)
    value = found.data["a"]
    mark = found.token_marks(("a",), value)(value.index("${{"))
    assert (mark.line, mark.column) == (line, column)


def test_the_second_token_is_the_second() -> None:
    """Tokens are counted."""
    found = document("a: ${{ b }} ${{ b }}\nb: ${{ b }}")
    assert found.token_marks(("a",), found.data["a"])(9).column == 13


def test_an_empty_file_has_no_data() -> None:
    """It is no fault of the loader's."""
    assert document("").data is None
    assert document("# nothing\n").data is None


def test_the_parser_written_in_python_serves_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where libyaml is missing the places are the same."""
    text = "a: é ${{ b }}\nb: [1, {c: |\n  x}]"
    monkeypatch.setattr(loader, "_Loader", yaml.SafeLoader)
    assert document("a: é ${{ b }}\nb: [1, {c: x}]").value(("b", 1, "c")) == (2, 12)
    assert refused("a:\n\tb: 1") == ("yaml_tab", 2, 1)
    assert refused("m: [@bot]") == ("yaml_syntax", 1, 5)
    assert refused(text)[0] == "yaml_syntax"
    assert refused("[" * 51)[0] == "yaml_depth"


PIECES = (
    "a|b: |c:\n|\n|  |- |[|]|{|}|,|&x |*x|<<: |!|!!int |>|#|'|\"|\\|\t|---|...|%YAML 1.2|? |1|1e9|.nan|~|true|é|\x85|\r"
)
YAML_TEXT = st.lists(st.sampled_from(["|", *PIECES.split("|")]), max_size=30).map("".join)


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.text(), YAML_TEXT))
def test_whatever_the_text_there_is_a_document_or_a_finding(text: str) -> None:
    """The loader never raises, and its places lie inside the text."""
    found, findings = read(text)
    assert (found is None) == bool(findings)
    for one in findings:
        assert one.line >= 1
        assert one.column >= 1
        assert one.message


VALUES = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-(10**17), 10**17), st.floats(allow_nan=False, allow_infinity=False)
    )
    | st.text(st.characters(exclude_categories=["Cs", "Cc"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abcö: '\"#", min_size=1), inner, max_size=4),
    max_leaves=20,
)


@settings(max_examples=100, deadline=None)
@given(VALUES)
def test_what_was_written_is_read(value: object) -> None:
    """Plain data written as YAML comes back as it was."""
    text = yaml.safe_dump({"a": value}, allow_unicode=True, default_style='"' if isinstance(value, str) else None)
    if "0x" not in text and "0o" not in text:
        assert document(text).data == {"a": value}
