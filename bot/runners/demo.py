"""The rule-based `demo` model: no network, no key, the same answer to the same prompt.

It knows nothing but the prompt's text, so what it says shows what a real model would have been given.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from bot.model.outcome import Done, Failed, Outcome, Usage
from bot.runners.call import Call
from bot.runners.demo_conclusion import QUOTE_CHARS, conclusion, inline, refusal
from bot.runners.demo_prompt import Part, Reading, read
from bot.runners.demo_result import made_up
from bot.runners.providers import ModelName

#: characters per token, as the bound on prompts counts them
_CHARS = 4
#: how many lines of a text are quoted
QUOTE_LINES = 4
#: characters of the prompt's end that a result is made from where nobody asked anything
_LAST = 2000


def answer(model: ModelName, call: Call) -> Outcome:
    """Answer `call` by rule: `demo:helper` picks and quotes from what it was given, `demo:echo` repeats the request."""
    write = {"helper": _helper, "echo": _echo}.get(model.name)
    if write is None:
        near = get_close_matches(model.name, ("helper", "echo"), 1)
        hint = f"did you mean `demo:{near[0]}`?" if near else "there are `demo:helper` and `demo:echo`"
        return Failed("model_unavailable", f"there is no model `{model}`", hint, model=str(model))
    seen = read(call.prompt)
    output = write(seen)
    sent = -(-(len(call.system) + len(call.prompt)) // _CHARS)
    usage = Usage(sent, -(-len(output) // _CHARS), 1, 0.0)
    if usage.tokens > call.limits.tokens:
        message = f"`{model}`: {usage.tokens} tokens are more than the limit of {call.limits.tokens}"
        return Failed("budget_exceeded", message, "raise the agent's `budget` or the run's limits", usage=usage)
    result = None if call.schema is None else made_up(call.schema, seen.request or call.prompt[-_LAST:])
    return Done(output=output, result=result, usage=usage, model=str(model))


def _echo(seen: Reading) -> str:
    return seen.request or "(there was no request)"


def _helper(seen: Reading) -> str:
    paragraphs = [f"**In short:** {conclusion(seen)}"]
    paragraphs += [f"It was sent back to be done again:\n\n{_quote(part.text)}" for part in seen.reworks]
    paragraphs += [_quoted(pin) for pin in seen.pins]
    if seen.inputs:
        paragraphs.append("What was computed just now:")
        paragraphs.append("\n".join(_input(part) for part in seen.inputs))
    if seen.words:
        last = seen.words[-1]
        paragraphs.append(f"The last word in the thread{_by(last)}:\n\n{_quote(last.text)}")
    paragraphs.append(_account(seen))
    return "\n\n".join(paragraphs)


def _account(seen: Reading) -> str:
    """What it was asked, what it is, and everything it was given."""
    names = list(dict.fromkeys("the bot" if part.is_bot else part.author for part in seen.comments if part.author))
    comments = _count(len(seen.comments), "comment") + (f" ({', '.join(names)})" if names else "")
    inputs = _count(len(seen.inputs), "input")
    given = f"{comments}, {_count(len(seen.pins), 'pin')} and {inputs}"
    asked = f"You asked: {inline(seen.request)}. " if seen.request else ""
    return f"{asked}*I am the rule-based demo model: I pick and quote, I do not reason. I was given {given}.*"


def _quoted(pin: Part) -> str:
    head = "The bot" if pin.is_bot else f"**{pin.author}**" if pin.author else "Somebody"
    return f"{head} wrote, and it is pinned:\n\n{_quote(pin.text)}"


def _input(part: Part) -> str:
    name = inline(part.source or "input")
    if refused := refusal(part):
        return f"- {name} is {refused}"
    lines = [line for line in part.output.splitlines() if line.strip()]
    said = f"its last line is {inline(lines[-1])}" if lines else "it is empty"
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


def _count(number: int, noun: str) -> str:
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"
