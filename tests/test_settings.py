"""Settings: from the environment, `.env` and files, with what is wrong named and no value shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bot.errors import OperatorError
from bot.settings import Settings, load, look, missing_to_serve, unknown

#: of every variable a text and what it becomes
VALUES: dict[str, tuple[str, Any]] = {
    "BOT_GITHUB_URL": ("https://ghes.test/api/v3", "https://ghes.test/api/v3"),
    "BOT_GITHUB_APP_ID": ("42", 42),
    "BOT_GITHUB_PRIVATE_KEY": (r"-----BEGIN\nabc\n-----END\n", "-----BEGIN\nabc\n-----END\n"),
    "BOT_GITHUB_WEBHOOK_SECRET": ("new one, old one,", ("new one", "old one")),
    "BOT_GITHUB_APP_SLUG": ("robo", "robo"),
    "BOT_ALLOWED_OWNERS": (" acme ,77,", ("acme", "77")),
    "BOT_DATABASE_URL": ("sqlite:////srv/x.db", "sqlite:////srv/x.db"),
    "BOT_DATA_DIR": ("/srv/bot", Path("/srv/bot")),
    "BOT_HOST": ("0.0.0.0", "0.0.0.0"),
    "BOT_PORT": ("80", 80),
    "BOT_WORKERS": ("7", 7),
    "BOT_SANDBOX": ("off", "off"),
    "BOT_NETWORK": ("api.example.org,*.example.net", ("api.example.org", "*.example.net")),
    "BOT_DASHBOARD_PASSWORD": ("let me in", "let me in"),
    "BOT_SECRETS_DIR": ("/srv/secrets", Path("/srv/secrets")),
    "BOT_EXPORT_ENV": ("HOME,LANG", ("HOME", "LANG")),
    "BOT_MAX_USD_DAY": ("2.5", 2.5),
    "BOT_MAX_RUN_USD": ("0", 0.0),
    "BOT_RESULT_MAX_BYTES": ("2048", 2048),
    "BOT_KEEP_DAYS": ("7", 7),
    "BOT_MARKER_KEY": ("k1,k2", ("k1", "k2")),
    "BOT_DEFAULT_MODEL": ("openai:some", "openai:some"),
    "BOT_LOG": ("debug", "debug"),
    "OTEL_EXPORTER_OTLP_ENDPOINT": ("http://traces.test:4318", "http://traces.test:4318"),
    "OPENAI_API_KEY": ("sk-1", "sk-1"),
    "OPENAI_BASE_URL": ("http://models.test", "http://models.test"),
    "ANTHROPIC_API_KEY": ("sk-2", "sk-2"),
    "ANTHROPIC_BASE_URL": ("http://others.test", "http://others.test"),
}
SECRETS = {
    "BOT_DATABASE_URL",
    "BOT_GITHUB_PRIVATE_KEY",
    "BOT_GITHUB_WEBHOOK_SECRET",
    "BOT_DASHBOARD_PASSWORD",
    "BOT_MARKER_KEY",
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
}


def value(settings: Settings, variable: str) -> Any:
    """What a variable became."""
    return next(getattr(settings, name) for name, each in Settings.model_fields.items() if each.alias == variable)


def test_no_variable_is_missing_here() -> None:
    """Every setting has its case above."""
    assert list(VALUES) == [each.alias for each in Settings.model_fields.values()]


@pytest.mark.parametrize("variable", VALUES)
def test_from_the_environment(variable: str) -> None:
    """Each variable sets its own value; all others stay at their defaults."""
    text, wanted = VALUES[variable]
    settings, sources = load({variable: text}, None)
    assert value(settings, variable) == wanted
    assert sources[variable].where == "environment"
    others, defaults = set(VALUES) - {variable}, Settings()
    assert {sources[other].where for other in others} == {"default"}
    assert all(value(settings, other) == value(defaults, other) for other in others)


@pytest.mark.parametrize("variable", VALUES)
def test_from_a_dotenv_file(tmp_path: Path, variable: str) -> None:
    """The same names, quoted as in a shell."""
    text, wanted = VALUES[variable]
    file = tmp_path / ".env"
    file.write_text(f"# a comment\n{variable}='{text}'\n")
    settings, sources = load({}, file)
    assert value(settings, variable) == wanted
    assert sources[variable].where == ".env"


@pytest.mark.parametrize("variable", VALUES)
def test_from_a_file(tmp_path: Path, variable: str) -> None:
    """Only secrets, without the line break that editors leave; of the others such a variable means nothing."""
    text, wanted = VALUES[variable]
    file = tmp_path / "value"
    file.write_text(f"{text}\n")
    settings, sources = load({f"{variable}_FILE": str(file)}, None)
    if variable in SECRETS:
        assert value(settings, variable) == wanted
        assert sources[variable].where == f"file {file}"
    else:
        assert settings == Settings()
        assert sources[variable].where == "default"


def test_what_counts_first(tmp_path: Path) -> None:
    """The environment, its file, `.env`, and the file that `.env` names; an empty value is none."""
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_text("from file one")
    two.write_text("from file two")
    dotenv = tmp_path / ".env"
    dotenv.write_text(f"OPENAI_API_KEY=from dotenv\nOPENAI_API_KEY_FILE={two}\n")
    environ = {"OPENAI_API_KEY": "from environment", "OPENAI_API_KEY_FILE": str(one)}

    def key() -> str:
        return look(environ, dotenv)[0].openai_key

    assert key() == "from environment"
    environ["OPENAI_API_KEY"] = ""
    assert key() == "from file one"
    environ.clear()
    assert key() == "from dotenv"
    with pytest.raises(OperatorError, match="OPENAI_API_KEY and OPENAI_API_KEY_FILE are both set"):
        load(environ, dotenv)
    dotenv.write_text(f"OPENAI_API_KEY_FILE={two}\n")
    assert key() == "from file two"


def test_a_typing_error_in_a_name_is_seen() -> None:
    """`BOT_SANBOX=off` would go unseen; other variables are nobody's business."""
    environ = {"BOT_SANBOX": "off", "BOT_LOG": "info", "BOT_MARKER_KEY_FILE": "x", "HOME": "/"}
    assert unknown(environ) == ["BOT_SANBOX is no setting; did you mean BOT_SANDBOX?"]


def test_a_typing_error_in_a_dotenv_file_is_seen(tmp_path: Path) -> None:
    """It is where most people write them; only secrets are read from files."""
    dotenv = tmp_path / ".env"
    dotenv.write_text("BOT_WORKER=9\nBOT_LOG=info\n")
    assert unknown({"BOT_GITHUB_APP_ID_FILE": "x"}, dotenv) == [
        "BOT_GITHUB_APP_ID_FILE is no setting; did you mean BOT_GITHUB_APP_ID?",
        "BOT_WORKER is no setting; did you mean BOT_WORKERS?",
    ]
    assert unknown({}, tmp_path) == []


def test_a_key_of_several_lines_stays_as_it_is() -> None:
    """As a file or a shell's quotes give it."""
    key = "-----BEGIN\nabc\n-----END\n"
    assert load({"BOT_GITHUB_PRIVATE_KEY": key}, None)[0].private_key == key


def test_without_a_dotenv_file(tmp_path: Path) -> None:
    """None is needed, and a folder of that name is none."""
    assert load({}, tmp_path / ".env")[0] == Settings()
    assert load({}, tmp_path)[0] == Settings()


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("BOT_GITHUB_APP_ID", "canary"),
        ("BOT_GITHUB_APP_ID", "-77123"),
        ("BOT_PORT", "65536"),
        ("BOT_PORT", "canary"),
        ("BOT_WORKERS", "0"),
        ("BOT_WORKERS", "257"),
        ("BOT_SANDBOX", "canary"),
        ("BOT_MAX_USD_DAY", "-0.77123"),
        ("BOT_RESULT_MAX_BYTES", "1000001"),
        ("BOT_RESULT_MAX_BYTES", "1023"),
        ("BOT_MAX_RUN_USD", "canary"),
        ("BOT_DATABASE_URL", "canary"),
        ("BOT_LOG", "canary"),
    ],
)
def test_a_value_that_cannot_be(variable: str, text: str) -> None:
    """The variable is named and the value is not shown: it may have been put in the wrong place."""
    with pytest.raises(OperatorError) as caught:
        load({variable: text, "OPENAI_API_KEY": "canary"}, None)
    told = f"{caught.value.message} {caught.value.mend}"
    assert caught.value.message.startswith(f"{variable}: ")
    assert text not in told
    assert "canary" not in told
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    ("url", "taken"),
    [
        ("https://ghe.local/api/v3", True),
        ("http://127.0.0.1:8765/api/v3", True),
        ("http://localhost/api/v3", True),
        ("http://[::1]:8765", True),
        ("http://ghe.local/api/v3", False),
        ("http://10.0.0.7/api/v3", False),
        ("http://localhost.evil.test/api/v3", False),
        ("http://127.0.0.1.evil.test/", False),
        ("http://127.0.0.1:80@ghe.local/", False),
        ("http://localhost?.evil.test", False),
        ("ghe.local/api/v3", False),
        ("https://", False),
    ],
)
def test_tokens_go_to_nobody_in_clear(url: str, taken: bool) -> None:
    """Plain HTTP only where it leaves the machine by no wire."""
    settings, _, faults = look({"BOT_GITHUB_URL": url}, None)
    wanted = "expected a URL that begins with https:// (http:// on this machine alone: tokens go there)"
    assert faults == ([] if taken else [f"BOT_GITHUB_URL: {wanted}"])
    assert settings.github_url == (url.rstrip("/") if taken else "https://api.github.com")


@pytest.mark.parametrize(("content", "reason"), [(None, "No such file or directory"), (b"\xff\xfe", "it is no text")])
def test_a_file_that_cannot_be_read(tmp_path: Path, content: bytes | None, reason: str) -> None:
    """The variable, the path and the reason are named."""
    file = tmp_path / "key"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(OperatorError, match=rf"OPENAI_API_KEY_FILE: cannot read .*key: {reason}"):
        load({"OPENAI_API_KEY_FILE": str(file)}, None)


def test_a_file_without_a_key_is_named(tmp_path: Path) -> None:
    """Nobody would know which of all files it was; what it holds instead is not shown."""
    file = tmp_path / "key"
    file.write_text("canary")
    with pytest.raises(OperatorError) as caught:
        load({"BOT_GITHUB_PRIVATE_KEY_FILE": str(file)}, None)
    assert caught.value.message == f"BOT_GITHUB_PRIVATE_KEY_FILE: {file} holds no private key (PEM)"


def test_a_dotenv_that_cannot_be_read(tmp_path: Path) -> None:
    """Named."""
    (tmp_path / ".env").write_bytes(b"BOT_LOG=\xff\n")
    with pytest.raises(OperatorError, match=r"cannot read .*\.env"):
        load({}, tmp_path / ".env")


def test_the_database_is_in_the_data_folder() -> None:
    """Unless it is named."""
    assert Settings(data_dir=Path("/srv/bot")).database == "sqlite:////srv/bot/bot.db"
    assert Settings(data_dir=Path("here")).database == f"sqlite:///{Path.cwd()}/here/bot.db"
    assert Settings(database_url="sqlite:////x.db").database == "sqlite:////x.db"


def test_every_secret_is_known_to_redaction() -> None:
    """Each value of each list; nothing that is unset."""
    settings, _ = load({name: VALUES[name][0] for name in SECRETS}, None)
    key = VALUES["BOT_GITHUB_PRIVATE_KEY"][1]
    assert sorted(settings.secrets) == sorted([key, "let me in", "new one", "old one", "k1", "k2", "sk-1", "sk-2"])
    assert Settings().secrets == ()
    marked = {
        str(each.alias)
        for each in Settings.model_fields.values()
        if isinstance(each.json_schema_extra, dict) and each.json_schema_extra["secret"]
    }
    assert marked == SECRETS


def test_the_password_of_the_database_is_known_to_redaction() -> None:
    """As it stands in the URL, and as it is meant; a URL without one has nothing to hide."""
    for url, secrets in (
        ("postgresql://ana:p%40ss@db.test/bot", ("p%40ss", "p@ss")),
        ("postgres://ana@db.test:5432/bot?sslmode=require&password=hunter22", ("hunter22",)),
        ("postgresql://ana:@db.test/bot", ()),
        ("postgresql://ana@db.test:5432/bot", ()),
        ("sqlite:////srv/a:b@c.db", ()),
    ):
        assert Settings(database_url=url).secrets == secrets


def test_what_steps_may_be_given_is_known_to_redaction_too() -> None:
    """The values of exported variables that are set; no others."""
    settings, _ = load({"BOT_EXPORT_ENV": "TOKEN,EMPTY,UNSET", "OPENAI_API_KEY": "sk-1"}, None)
    assert settings.secrets_with({"TOKEN": "t0ken", "EMPTY": "", "OTHER": "other"}) == ("sk-1", "t0ken")


@pytest.mark.parametrize(
    ("unset", "missing"),
    [
        ((), []),
        (("BOT_GITHUB_APP_ID",), ["BOT_GITHUB_APP_ID"]),
        (("BOT_GITHUB_PRIVATE_KEY",), ["BOT_GITHUB_PRIVATE_KEY"]),
        (("BOT_GITHUB_WEBHOOK_SECRET",), ["BOT_GITHUB_WEBHOOK_SECRET"]),
        (tuple(VALUES), ["BOT_GITHUB_APP_ID", "BOT_GITHUB_PRIVATE_KEY", "BOT_GITHUB_WEBHOOK_SECRET"]),
    ],
)
def test_what_serving_needs(unset: tuple[str, ...], missing: list[str]) -> None:
    """All that is missing, not only the first."""
    settings, _ = load({name: text for name, (text, _) in VALUES.items() if name not in unset}, None)
    assert missing_to_serve(settings) == missing


def test_a_secret_of_commas_is_none() -> None:
    """Nothing that could sign is left of it."""
    settings, _ = load({"BOT_GITHUB_WEBHOOK_SECRET": " , ,"}, None)
    assert "BOT_GITHUB_WEBHOOK_SECRET" in missing_to_serve(settings)
