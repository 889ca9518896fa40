"""Environment → `Settings`. Read at the edge (`cli`, `demo`, `app`) and passed on as values.

Every setting is a variable `BOT_…` (the providers' keys keep their own names), read from the environment, else from
`.env`; every secret also as `…_FILE`, a path whose content is the value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import unquote

from dotenv import dotenv_values
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from bot.errors import OperatorError


def _list(value: Any) -> Any:
    return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value


def _pem(value: Any) -> Any:
    # a key in one line, as container platforms like it
    return value.replace("\\n", "\n") if isinstance(value, str) else value


def _web(value: Any) -> Any:
    # tokens go there, which nobody on the way may read
    if not re.fullmatch(r"(https://[^\s/]+|http://(localhost|127\.[0-9.]+|\[::1\])(:[0-9]+)?(?=/|$)).*", str(value)):
        raise ValueError("no URL, or one that anybody can read along")
    return str(value).rstrip("/")


Url = Annotated[str, BeforeValidator(_web)]
Names = Annotated[tuple[str, ...], BeforeValidator(_list)]


def variable(name: str, meaning: str, default: Any = None, *, secret: bool = False) -> Any:
    """A setting: its environment variable, what it means (for `doctor` and the documentation), its default."""
    return Field(default=default, alias=name, description=meaning, json_schema_extra={"secret": secret})


class Settings(BaseModel):
    """Everything an operator may set."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)

    github_url: Url = variable("BOT_GITHUB_URL", "REST base; GHES: https://HOST/api/v3", "https://api.github.com")
    app_id: Annotated[int, Field(ge=0)] = variable("BOT_GITHUB_APP_ID", "the GitHub App's id", 0)
    private_key: Annotated[str, BeforeValidator(_pem)] = variable(
        "BOT_GITHUB_PRIVATE_KEY", "the App's private key (PEM)", "", secret=True
    )
    webhook_secrets: Names = variable(
        "BOT_GITHUB_WEBHOOK_SECRET", "the webhook's secret; several, by comma, while it rotates", (), secret=True
    )
    app_slug: str = variable("BOT_GITHUB_APP_SLUG", "the handle; asked from GET /app if unset", "")
    allowed_owners: Names = variable(
        "BOT_ALLOWED_OWNERS", "logins or ids whose repositories are served; `*` opens it; else the App's owner", ()
    )
    database_url: Annotated[str, Field(pattern=r"^$|^[a-z+]+://")] = variable(
        "BOT_DATABASE_URL",
        "postgresql://<user>:<password>@<host>/<database>, or sqlite:///<path>; else bot.db in the data folder",
        "",
        secret=True,
    )
    data_dir: Path = variable("BOT_DATA_DIR", "database, clones, caches", Path("data"))
    host: str = variable("BOT_HOST", "address to listen on", "127.0.0.1")
    port: Annotated[int, Field(ge=0, le=65535)] = variable("BOT_PORT", "port to listen on", 8000)
    workers: Annotated[int, Field(ge=1, le=256)] = variable("BOT_WORKERS", "runs at once in this process", 4)
    sandbox: Literal["required", "off"] = variable(
        "BOT_SANDBOX", "required: processes need isolation that works; off: every writer is trusted", "required"
    )
    network: Names = variable(
        "BOT_NETWORK", "hosts that steps and resources may reach (`*.example.org`; `*`: every one); else none", ()
    )
    dashboard_password: str = variable(
        "BOT_DASHBOARD_PASSWORD",
        "bearer token of the API; without one only requests made on this machine are served there",
        "",
        secret=True,
    )
    secrets_dir: Path | None = variable(
        "BOT_SECRETS_DIR", "secrets of repositories, as `<repository id>/<NAME>` or `owner-<owner id>/<NAME>`", None
    )
    export_env: Names = variable("BOT_EXPORT_ENV", "engine variables that `env:` of a repository may name", ())
    max_usd_day: Annotated[float, Field(ge=0)] = variable(
        "BOT_MAX_USD_DAY", "ceiling of the whole instance in 24 hours, US dollars", 50.0
    )
    max_run_usd: Annotated[float, Field(ge=0)] = variable("BOT_MAX_RUN_USD", "ceiling of one run, US dollars", 10.0)
    result_max_bytes: Annotated[int, Field(ge=1024, le=1_000_000)] = variable(
        "BOT_RESULT_MAX_BYTES", "most of one result or export that a schema is held against, bytes", 262_144
    )
    keep_days: Annotated[int, Field(ge=1, le=3650)] = variable(
        "BOT_KEEP_DAYS", "days after a run's end at which its texts go: prompts, results, comments, deliveries", 30
    )
    marker_keys: Names = variable(
        "BOT_MARKER_KEY", "signs markers; several, by comma, while it rotates; else from the App's key", (), secret=True
    )
    default_model: str = variable("BOT_DEFAULT_MODEL", "what the built-in `ask` agent runs on (provider:name)", "")
    log: Literal["debug", "info", "warning", "error"] = variable(
        "BOT_LOG",
        "least level that is logged; without it, commands beside `serve` and `worker` log errors alone",
        "info",
    )
    otlp_endpoint: str = variable(
        "OTEL_EXPORTER_OTLP_ENDPOINT", "collector that traces are sent to over HTTP; takes `threadsmith[otlp]`", ""
    )
    openai_key: str = variable("OPENAI_API_KEY", "key of the provider `openai`", "", secret=True)
    openai_url: str = variable("OPENAI_BASE_URL", "base URL of an OpenAI-compatible server", "")
    anthropic_key: str = variable("ANTHROPIC_API_KEY", "key of the provider `anthropic`", "", secret=True)
    anthropic_url: str = variable("ANTHROPIC_BASE_URL", "base URL of an Anthropic-compatible server", "")

    @property
    def database(self) -> str:
        """The database's URL after its default."""
        return self.database_url or f"sqlite:///{self.data_dir.resolve() / 'bot.db'}"

    def secrets_with(self, environ: Mapping[str, str]) -> tuple[str, ...]:
        """Every value that must never be written: the secrets, and the variables that steps may be given."""
        return (*self.secrets, *(environ[name] for name in self.export_env if environ.get(name)))

    @property
    def secrets(self) -> tuple[str, ...]:
        """Every secret value of the instance's own."""
        single = (self.private_key, self.dashboard_password, self.openai_key, self.anthropic_key)
        several = (*self.webhook_secrets, *self.marker_keys, *_passwords(self.database_url))
        return tuple(value for value in (*single, *several) if value)


def _passwords(url: str) -> tuple[str, ...]:
    """What of a database's URL is secret, as it stands there and as it is meant."""
    found = re.match(r"[a-z+]+://[^/?#:@]*:([^/?#@]*)@", url)
    given = [found[1]] if found else []
    given += re.findall(r"[?&](?:ssl)?password=([^&#]*)", url)
    return tuple(dict.fromkeys((*given, *map(unquote, given))))


@dataclass(frozen=True, slots=True)
class Source:
    """Where a setting came from: `environment`, `.env`, a file, or `default`."""

    name: str
    where: str


def load(environ: Mapping[str, str], dotenv: Path | None = Path(".env")) -> tuple[Settings, dict[str, Source]]:
    """Read the settings and where each came from. Raises `OperatorError` that names every variable at fault."""
    settings, sources, faults = look(environ, dotenv)
    if faults:
        raise OperatorError(
            "\n".join(faults), "the README lists every setting; `threadsmith doctor` shows those in force"
        )
    return settings, sources


def look(
    environ: Mapping[str, str], dotenv: Path | None = Path(".env")
) -> tuple[Settings, dict[str, Source], list[str]]:
    """The same without raising: what is at fault has its default instead, and a sentence that names the variable.

    A sentence never holds a value: it may be a secret.
    """
    file = _dotenv(dotenv) if dotenv and dotenv.is_file() else {}
    values: dict[str, str] = {}
    sources: dict[str, Source] = {}
    faults: list[str] = []
    for field in Settings.model_fields.values():
        name = str(field.alias)
        sources[name] = Source(name, "default")
        for where, given in (("environment", environ), (".env", file)):
            path = given.get(f"{name}_FILE") if _is_secret(field) else None
            if given.get(name):
                values[name], sources[name] = given[name], Source(name, where)
                if path:
                    faults.append(f"{name} and {name}_FILE are both set: unset one of them")
                break
            if path:
                try:
                    values[name], sources[name] = _read(name, path), Source(name, f"file {path}")
                except OperatorError as error:
                    faults.append(error.message)
                break
    try:
        return Settings.model_validate(values), sources, faults
    except ValidationError as error:
        for fault in error.errors():
            name = str(fault["loc"][0])
            values.pop(name, None)
            faults.append(f"{name}: {_in_words(fault['type'], fault.get('ctx', {}))}")
        return Settings.model_validate(values), sources, faults


def _in_words(kind: str, context: Mapping[str, Any]) -> str:
    match kind:
        case "int_parsing" | "int_type":
            return "expected a whole number"
        case "float_parsing" | "float_type":
            return "expected a number"
        case "literal_error":
            return f"expected {context.get('expected', 'another word')}"
        case "greater_than_equal":
            return f"expected at least {context.get('ge')}"
        case "less_than_equal":
            return f"expected at most {context.get('le')}"
        case "value_error":
            return "expected a URL that begins with https:// (http:// on this machine alone: tokens go there)"
        case "string_pattern_mismatch":
            # the one text that has a pattern
            return "expected postgresql://… or sqlite:///…"
    return "cannot be read"


def unknown(environ: Mapping[str, str], dotenv: Path | None = None) -> list[str]:
    """Variables that look like settings and are none, each with the nearest name: a typing error would go unseen."""
    given = {*environ, *(_dotenv(dotenv) if dotenv and dotenv.is_file() else ())}
    known = {str(field.alias) for field in Settings.model_fields.values()}
    known |= {f"{field.alias}_FILE" for field in Settings.model_fields.values() if _is_secret(field)}
    odd = sorted(name for name in given if name.startswith("BOT_") and name not in known)
    return [
        f"{name} is no setting" + (f"; did you mean {near[0]}?" if (near := get_close_matches(name, known, 1)) else "")
        for name in odd
    ]


def _dotenv(path: Path) -> dict[str, str]:
    try:
        return {name: value for name, value in dotenv_values(path).items() if value is not None}
    except (OSError, UnicodeDecodeError) as error:
        raise OperatorError(f"cannot read {path}", "check its permissions, and save it as UTF-8") from error


def _is_secret(field: Any) -> bool:
    extra = field.json_schema_extra
    return bool(isinstance(extra, dict) and extra.get("secret"))


def _read(name: str, path: str) -> str:
    try:
        text = Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text in UTF-8"
        raise OperatorError(
            f"{name}_FILE: cannot read {path}: {reason}", "check the path, its owner and mode"
        ) from error
    if name == "BOT_GITHUB_PRIVATE_KEY" and "-----BEGIN" not in text:
        raise OperatorError(f"{name}_FILE: {path} holds no private key (PEM)", "name the App's .pem file")
    return text


def missing_to_serve(settings: Settings, *, delivered: bool = True) -> list[str]:
    """Names of the variables without which serving makes no sense; `delivered`: to a process that gets webhooks."""
    needed = {
        "BOT_GITHUB_APP_ID": settings.app_id,
        "BOT_GITHUB_PRIVATE_KEY": settings.private_key,
        "BOT_GITHUB_WEBHOOK_SECRET": settings.webhook_secrets or not delivered,
    }
    return [name for name, value in needed.items() if not value]
