"""Check requests and answers against GitHub's OpenAPI description (its structure: `github-openapi-structure.json`).

`check_request` and `check_response` take what went over the wire; `CheckedTransport` wraps an httpx transport and
checks every exchange of a client. Schemas are OpenAPI 3.0: `nullable` becomes a type, `oneOf` is read as `anyOf` (the
alternatives overlap), references to parts that were left out match anything.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import httpx
from jsonschema import Draft202012Validator, FormatChecker

STRUCTURE = Path(__file__).with_name("github-openapi-structure.json")

#: path parameters that may hold slashes
_LONG = frozenset({"path", "ref", "basehead", "branch"})
_METHODS = frozenset({"get", "put", "post", "patch", "delete"})
_API = frozenset({"app", "app-manifests", "installation", "rate_limit", "repos", "repositories", "users"})
#: media types that GitHub documents in prose only; the body is the text as it is
_RAW = frozenset({"application/vnd.github.raw+json", "application/vnd.github.diff", "application/vnd.github.patch"})

Json = Any


def _component(kind: str, name: str) -> dict[str, str]:
    return {"$ref": f"#/components/{kind}/{name}"}


def _query(name: str) -> dict[str, Json]:
    return {"name": name, "in": "query", "required": False, "schema": {"type": "string"}}


#: GETs as GitHub's pages describe them, in schemas of the structure; a structure made anew has them itself. Sources:
#: https://docs.github.com/en/rest/apps/apps#get-an-installation-for-the-authenticated-app,
#: https://docs.github.com/en/rest/commits/commits#list-commits
_FURTHER: dict[str, dict[str, Json]] = {
    "/app/installations/{installation_id}": {
        "parameters": [_component("parameters", "installation-id")],
        "responses": {
            "200": {"content": {"application/json": {"schema": _component("schemas", "installation")}}},
            "404": {"content": {"application/json": {"schema": _component("schemas", "basic-error")}}},
        },
    },
    "/repos/{owner}/{repo}/commits": {
        "parameters": [
            *(_component("parameters", name) for name in ("owner", "repo", "per-page", "page")),
            *map(_query, ("sha", "path", "author", "committer", "since", "until")),
        ],
        "responses": {
            "200": {
                "content": {"application/json": {"schema": {"type": "array", "items": _component("schemas", "commit")}}}
            },
            **{
                status: {"content": {"application/json": {"schema": _component("schemas", "basic-error")}}}
                for status in ("400", "404", "409", "500")
            },
        },
    },
}


class Undocumented(AssertionError):
    """The exchange is not what GitHub's description allows; the message says where."""


@cache
def document() -> dict[str, Json]:
    """The structure, with one mend, and two operations that it was made without.

    The listing of installations repeats the schema `installation` inline, in an older form that wants an account to be
    a user and an enterprise at once (`allOf`), which no account is; the component itself says `anyOf`.
    """
    loaded: dict[str, Json] = json.loads(STRUCTURE.read_text(encoding="utf-8"))
    listing = loaded["paths"]["/app/installations"]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    listing["items"] = {"$ref": "#/components/schemas/installation"}
    for template, found in _FURTHER.items():
        loaded["paths"].setdefault(template, {}).setdefault("get", found)
    return loaded


def resolve(node: dict[str, Json]) -> dict[str, Json]:
    """Follow a `$ref`; an empty object, which matches anything, where its target was left out."""
    while "$ref" in node:
        target: Json = document()
        for word in node["$ref"].split("/")[1:]:
            target = target.get(word, {}) if isinstance(target, dict) else {}
        node = target
    return node


@cache
def _templates() -> tuple[tuple[str, re.Pattern[str]], ...]:
    out = []
    for template, item in document()["paths"].items():
        integers = {
            param["name"]
            for operation in item.values()
            for param in map(resolve, operation.get("parameters", []))
            if param.get("in") == "path" and param["schema"].get("type") == "integer"
        }

        def group(match: re.Match[str], integers: set[str] = integers) -> str:
            name = match[1]
            return r"\d+" if name in integers else ".+" if name in _LONG else "[^/]+"

        # `/contents` alone is the folder at the top; the description knows it only with a path
        pattern = re.sub(r"\{(\w+)\}", group, template).replace("/contents/.+", "/contents(?:/.+)?")
        out.append((template, re.compile(pattern)))
    # literal words before parameters: /issues/comments is no issue number
    return tuple(sorted(out, key=lambda pair: (pair[0].count("{"), -len(pair[0]))))


def operation(method: str, path: str) -> tuple[str, dict[str, Json]]:
    """Template and operation that a path (without query, with or without `/api/v3`) belongs to."""
    path = path.removeprefix("/api/v3")
    path = re.sub(r"^/repositories/\d+", "/repos/owner/name", path)
    for template, pattern in _templates():
        found = document()["paths"][template].get(method.lower())
        if found is not None and method.lower() in _METHODS and pattern.fullmatch(path):
            return template, found
    raise Undocumented(f"{method} {path}: GitHub has no such operation")


def _schema(node: dict[str, Json], closed: bool, seen: frozenset[str] = frozenset()) -> dict[str, Json]:
    """A schema as JSON Schema, references resolved; `closed` forbids properties that are not described."""
    if "$ref" in node:
        name = node["$ref"]
        # a schema that holds itself is followed once
        return {} if name in seen else _schema(resolve(node), closed, seen | {name})
    out: dict[str, Json] = {}
    for key in ("type", "enum", "format", "minItems", "maxItems", "minLength", "maxLength", "pattern", "minimum",
                "maximum", "required"):  # fmt: skip
        if key in node:
            out[key] = node[key]
    if "properties" in node:
        out["properties"] = {name: _schema(part, closed, seen) for name, part in node["properties"].items()}
        if closed and "additionalProperties" not in node:
            out["additionalProperties"] = False
    if isinstance(extra := node.get("additionalProperties"), dict):
        out["additionalProperties"] = _schema(extra, closed, seen)
    elif extra is False:
        out["additionalProperties"] = False
    if "items" in node:
        out["items"] = _schema(node["items"], closed, seen)
    if parts := node.get("oneOf", []) + node.get("anyOf", []):
        out["anyOf"] = [_schema(part, closed, seen) for part in parts]
    if "allOf" in node:
        # parts are closed together, or none could allow what another one does
        out["allOf"] = [_schema(part, False, seen) for part in node["allOf"]]
    if node.get("nullable"):
        out = _or_null(out)
    return out


def _or_null(schema: dict[str, Json]) -> dict[str, Json]:
    if "enum" in schema:
        schema = {**schema, "enum": [*schema["enum"], None]}
    if "type" in schema and "anyOf" not in schema:
        return {**schema, "type": [schema["type"], "null"]}
    return {"anyOf": [schema, {"type": "null"}]}


_FORMATS = FormatChecker(formats=())


@_FORMATS.checks("date-time")
def _is_moment(value: object) -> bool:
    moment = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)"
    return not isinstance(value, str) or re.fullmatch(moment, value) is not None


@_FORMATS.checks("uri")
def _is_address(value: object) -> bool:
    return not isinstance(value, str) or re.match(r"[a-z][a-z+]*://[^\s/]+", value) is not None


@cache
def _validator(pointer: str, closed: bool) -> Draft202012Validator:
    return Draft202012Validator(_schema(json.loads(pointer), closed), format_checker=_FORMATS)


def complaints(schema: dict[str, Json], value: Json, *, closed: bool = False) -> list[str]:
    """What is wrong with a value, one line each; `schema` is a part of the description."""
    found = _validator(json.dumps(schema, sort_keys=True), closed).iter_errors(value)
    return [f"{error.json_path}: {error.message[:300]}" for error in sorted(found, key=lambda e: e.json_path)]


def component(name: str) -> dict[str, Json]:
    """A schema of the description by name, for `complaints`."""
    assert name in document()["components"]["schemas"], name
    return {"$ref": f"#/components/schemas/{name}"}


def _fail(where: str, lines: Iterable[str]) -> None:
    if lines := list(lines):
        raise Undocumented(where + "".join(f"\n  {line}" for line in lines))


def check_request(method: str, path: str, query: Iterable[tuple[str, str]] = (), body: Json = None) -> None:
    """Raise `Undocumented` for a path, query parameter or body that GitHub does not describe."""
    template, found = operation(method, path)
    where = f"request {method} {template}"
    known = {param["name"]: param for param in map(resolve, found.get("parameters", [])) if param["in"] == "query"}
    lines = [f"query: {name} is not known" for name, _ in query if name not in known]
    for name, text in query:
        if name in known:
            schema = known[name]["schema"]
            value: Json = int(text) if schema.get("type") == "integer" and re.fullmatch(r"-?\d+", text) else text
            lines += [f"query {name}: {line}" for line in complaints(schema, value)]
    _fail(where, lines)
    described = resolve(found.get("requestBody", {}))
    if body is None:
        _fail(where, ["a body is required"] if described.get("required") else [])
    elif "content" in described:
        _fail(where, complaints(described["content"]["application/json"]["schema"], body, closed=True))
    else:
        _fail(where, ["no body is described"] if body != {} else [])


def check_response(
    method: str,
    path: str,
    status: int,
    body: Json = None,
    content_type: str = "application/json",
    *,
    closed: bool = False,
) -> None:
    """Raise `Undocumented` for an answer that GitHub does not give. `body` is None for none, a str for text.

    Statuses from 400 on that are not described for the operation (401, 429, 5xx, …) may come anywhere, in the shape of
    the basic error; so may a 304. `closed` also forbids properties that the description does not name.
    """
    template, found = operation(method, path)
    where = f"answer {status} to {method} {template}"
    described = resolve(found["responses"].get(str(status), {}))
    media = content_type.partition(";")[0].strip()
    if str(status) not in found["responses"]:
        if status >= 400:
            _fail(where, [*complaints(component("basic-error"), body), *_needs_message(body)])
        elif status != 304 or method != "GET":
            raise Undocumented(f"{where}: no such status")
        elif body is not None:
            raise Undocumented(f"{where}: a 304 has no body")
        return
    content = described.get("content", {})
    if not content:
        _fail(where, ["a body that is not described"] if body is not None else [])
    elif media in content:
        _fail(where, complaints(content[media]["schema"], body, closed=closed and status < 400))
        _fail(where, _needs_message(body) if status >= 400 else [])
    elif media not in _RAW:
        raise Undocumented(f"{where}: media type {media} is not described")


def _needs_message(body: Json) -> list[str]:
    return [] if isinstance(body, dict) and body.get("message") else ["$: an error has a message"]


class CheckedTransport(httpx.AsyncBaseTransport):
    """Passes requests on to `inner` and checks each exchange with the REST API; what else goes by is left alone.

    `requests=False` leaves out what was asked (for tests that ask wrongly on purpose); `closed` as in `check_response`.
    """

    def __init__(self, inner: httpx.AsyncBaseTransport, *, requests: bool = True, closed: bool = False) -> None:
        self.inner = inner
        self.requests = requests
        self.closed = closed
        #: operations seen, as (method, template, status)
        self.seen: set[tuple[str, str, int]] = set()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        path = request.url.raw_path.decode().partition("?")[0]
        rest = path.removeprefix("/api/v3")
        if ".git/" in path or rest.split("/")[1] not in _API:
            return await self.inner.handle_async_request(request)
        raw = await request.aread()
        if self.requests:
            check_request(
                request.method, rest, list(request.url.params.multi_items()), json.loads(raw) if raw else None
            )
        response = await self.inner.handle_async_request(request)
        response.request = request
        content = await response.aread()
        kind = response.headers.get("content-type", "")
        body: Json = None
        if content:
            is_json = kind.startswith("application/json")
            body = json.loads(content) if is_json else content.decode("utf-8", "replace")
        template = operation(request.method, rest)[0]
        check_response(request.method, rest, response.status_code, body, kind, closed=self.closed)
        self.seen.add((request.method, template, response.status_code))
        return response

    async def aclose(self) -> None:
        await self.inner.aclose()


def coverage(seen: Iterable[tuple[str, str, int]], routes: Iterable[tuple[str, str]]) -> Mapping[tuple[str, str], int]:
    """How often each of `routes` (method, template) was seen with an answer that is no refusal."""
    counts = dict.fromkeys(routes, 0)
    for method, template, status in seen:
        if (method, template) in counts and status < 400:
            counts[method, template] += 1
    return counts
