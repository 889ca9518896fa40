"""The rule-based `demo` model: no network, no key, the same answer to the same prompt.

It knows nothing but the prompt's text, so what it says shows what a real model would have been given.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from bot.model.outcome import Done, Failed, Outcome, Usage
from bot.runners.call import Call
from bot.runners.demo_prompt import Part, Reading, read
from bot.runners.providers import ModelName

#: characters per token, as the bound on prompts counts them
_CHARS = 4
#: how much of a text is quoted
QUOTE_LINES, QUOTE_CHARS = 4, 400


def answer(model: ModelName, call: Call) -> Outcome:
    """Answer `call` by rule: `demo:helper` reports and quotes what it was given, `demo:echo` repeats the request."""
    write = {"helper": _helper, "echo": _echo}.get(model.name)
    if write is None:
        near = get_close_matches(model.name, ("helper", "echo"), 1)
        hint = f"did you mean `demo:{near[0]}`?" if near else "there are `demo:helper` and `demo:echo`"
        return Failed("model_unavailable", f"there is no model `{model}`", hint, model=str(model))
    output = write(read(call.prompt))
    sent = -(-(len(call.system) + len(call.prompt)) // _CHARS)
    usage = Usage(sent, -(-len(output) // _CHARS), 1, 0.0)
    if usage.tokens > call.limits.tokens:
        message = f"`{model}`: {usage.tokens} tokens are more than the limit of {call.limits.tokens}"
        return Failed("budget_exceeded", message, "raise the agent's `budget` or the run's limits", usage=usage)
    return Done(output=output, usage=usage, model=str(model))


def _echo(seen: Reading) -> str:
    return seen.request or "(there was no request)"


def _helper(seen: Reading) -> str:
    paragraphs = [f"You asked: {_inline(seen.request)}" if seen.request else "You did not ask anything."]
    if seen.pins:
        paragraphs.append("What is pinned comes first:")
        paragraphs += [_quoted(pin) for pin in seen.pins]
    if seen.inputs:
        paragraphs.append("I did not have to guess, these were computed just now:")
        paragraphs.append("\n".join(_input(part) for part in seen.inputs))
    if seen.comments:
        last = seen.comments[-1]
        paragraphs.append(f"The last word before yours{_by(last)}:\n\n{_quote(last.text)}")
    paragraphs.append(_account(seen))
    return "\n\n".join(paragraphs)


def _account(seen: Reading) -> str:
    """One sentence that lists everything it was given."""
    names = list(dict.fromkeys(part.author for part in seen.comments if part.author))
    comments = _count(len(seen.comments), "comment") + (f" ({', '.join(names)})" if names else "")
    inputs = _count(len(seen.inputs), "input")
    return f"*I am the rule-based demo model. I was given {comments}, {_count(len(seen.pins), 'pin')} and {inputs}.*"


def _quoted(pin: Part) -> str:
    head = f"**{pin.author}**" if pin.author else "Somebody"
    return f"{head} wrote:\n\n{_quote(pin.text)}"


def _input(part: Part) -> str:
    name = _inline(part.source or "input")
    refused = [line for line in part.facts.splitlines() if line.startswith("unavailable: ")]
    if refused:
        return f"- {name} is {refused[0]}"
    lines = [line for line in part.output.splitlines() if line.strip()]
    said = f"its last line is {_inline(lines[-1])}" if lines else "it is empty"
    return f"- {name}: {said}"


def _by(part: Part) -> str:
    return f" is {part.author}'s" if part.author else ""


def _quote(text: str) -> str:
    """The beginning of `text` as a Markdown quote, with a mark where it was cut."""
    kept = _head([line for line in text.splitlines() if line.strip()])
    return "\n".join(f"> {line}" for line in kept) or "> (nothing)"


def _head(lines: list[str]) -> Iterable[str]:
    room = QUOTE_CHARS
    for number, line in enumerate(lines):
        if number == QUOTE_LINES or len(line) > room:
            yield f"{line[:room]} […]" if number < QUOTE_LINES and room else "[…]"
            return
        room -= len(line)
        yield line


def _inline(text: str) -> str:
    """One line of code, fenced longer than any run of backticks in it."""
    line = " ".join(text.split())
    if len(line) > QUOTE_CHARS:
        line = f"{line[:QUOTE_CHARS]} […]"
    fence = "`"
    while fence in line:
        fence += "`"
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def _count(number: int, noun: str) -> str:
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"
