#!/usr/bin/env python3
"""Reduce GitHub's OpenAPI description to the structure of the paths that the bot uses.

usage: slim_openapi.py api.github.com.json > github-openapi-structure.json

Keeps methods, parameters, request bodies, responses and the schemas they reach; drops every sentence (descriptions,
summaries, examples, links). The input is `generated/api.github.com.json` of the npm package `@octokit/openapi`.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

REPO = r"/repos/\{owner\}/\{repo\}"
ISSUE = r"/issues/\{issue_number\}"
PATHS = [
    r"/app",
    r"/app/hook/deliveries.*",
    r"/app/hook/config",
    r"/app/installations",
    r"/app/installations/\{[^}]+\}(/access_tokens)?",
    r"/app-manifests/.*",
    r"/installation/repositories",
    r"/rate_limit",
    r"/users/\{username\}",
    REPO,
    REPO + r"/installation",
    REPO + r"/collaborators/\{username\}/permission",
    REPO + r"/contents/.*",
    REPO + r"/git/(blobs|trees|commits|refs?)(/.*)?",
    REPO + r"/commits",
    REPO + r"/(branches|commits)/\{[^}]+\}",
    REPO + r"/compare/.*",
    REPO + r"/issues",
    REPO + r"/issues/comments",
    REPO + ISSUE + r"(/(comments|labels.*|assignees|reactions.*|lock|timeline|sub_issues))?",
    REPO + r"/issues/comments/\{comment_id\}(/(pin|reactions.*))?",
    REPO + r"/pulls",
    REPO + r"/pulls/comments/\{comment_id\}(/.*)?",
    REPO + r"/pulls/\{pull_number\}(/(files|commits|comments.*|reviews.*|requested_reviewers|update-branch))?",
    REPO + r"/check-runs.*",
    REPO + r"/commits/\{ref\}/check-runs",
    REPO + r"/actions/jobs/\{job_id\}/logs",
    REPO + r"/actions/runs/\{run_id\}/jobs",
]
PROSE = {"description", "summary", "example", "examples", "externalDocs", "tags", "title"}


def strip(node: Any, inside_properties: bool = False) -> Any:
    """Drop prose keys, but never a property that happens to bear such a name."""
    if isinstance(node, dict):
        kept = {k: v for k, v in node.items() if inside_properties or not (k in PROSE or k.startswith("x-"))}
        return {k: strip(v, k == "properties") for k, v in kept.items()}
    if isinstance(node, list):
        return [strip(v) for v in node]
    return node


def refs(node: Any) -> Iterator[str]:
    """Every `$ref` below a node."""
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):
            yield node["$ref"]
        for value in node.values():
            yield from refs(value)
    elif isinstance(node, list):
        for value in node:
            yield from refs(value)


def main() -> None:
    """Read the description named on the command line, write the structure to standard output."""
    spec = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    keep = re.compile("|".join(f"(?:{p})" for p in PATHS))
    out: dict[str, Any] = {
        "openapi": spec["openapi"],
        "info": {"title": "GitHub REST, structure only", "version": spec["info"]["version"]},
        "paths": {p: strip(v) for p, v in spec["paths"].items() if keep.fullmatch(p)},
        "components": {},
    }
    waiting, seen = list(refs(out["paths"])), set[str]()
    while waiting:
        ref = waiting.pop()
        if ref in seen:
            continue
        seen.add(ref)
        _, _, kind, name = ref.split("/", 3)
        if kind == "examples":
            continue
        part = strip(spec["components"][kind][name])
        out["components"].setdefault(kind, {})[name] = part
        waiting += refs(part)
    json.dump(out, sys.stdout, separators=(",", ":"), sort_keys=True)


if __name__ == "__main__":
    main()
