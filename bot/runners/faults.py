"""What becomes of a provider's error: the one table from pydantic-ai's typed exceptions to our outcomes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bot.model.outcome import Failed, Faulted
from bot.runners.providers import ModelName, Providers

if TYPE_CHECKING:
    from pydantic_ai.exceptions import AgentRunError

#: statuses beside 429 and 5xx that the same request may not meet again: time-out, conflict, too early
#: (RFC 9110, 15.5.9 and 15.5.10; RFC 8470)
PASSING = frozenset({408, 409, 425})

#: a provider's message is quoted up to here
MESSAGE_CHARS = 500


@dataclass(frozen=True, slots=True)
class Attempt:
    """The request that went wrong. `answered`: a response came and was read before the error."""

    model: ModelName
    providers: Providers
    answered: bool = False


def outcome_of(error: AgentRunError, attempt: Attempt) -> Failed | Faulted:
    """Map `error` to `Faulted` where the same request may succeed later, else to `Failed` with a stable code.

    Codes: `budget_exceeded`, `quota_exhausted`, `prompt_too_large`, `model_unauthorised`, `model_unavailable`,
    `model_refused`, `empty_answer`.
    """
    from pydantic_ai import exceptions as ai

    name = f"`{attempt.model}`"
    said = _said(error, attempt.providers)
    match error:
        case ai.UsageLimitExceeded():
            failed = Failed(
                "budget_exceeded", f"{name}: {error.message}", "raise the agent's `budget` or the run's limits"
            )
        case ai.ModelQuotaExceededError():
            failed = Failed(
                "quota_exhausted",
                f"the provider of {name} says that this account's quota or credit is used up: {said}",
                "the operator tops it up or raises its limit; it is not tried again",
            )
        case ai.ModelContextWindowExceededError():
            failed = _too_large(name, said)
        case ai.ModelAuthenticationError():
            # the provider's own words may quote the key in part
            failed = Failed(
                "model_unauthorised",
                f"the provider of {name} refuses this instance's key, or the key may not use the model",
                f"the operator checks `{_setting(attempt.model)}`",
            )
        case ai.ModelNotFoundError():
            near = getattr(error, "suggested_model_id", None)
            failed = Failed(
                "model_unavailable",
                f"the provider does not know {name}: {said}",
                f"did you mean `{near}`?" if near else "check the model's name, and the operator the base URL",
            )
        case ai.ModelHTTPError(status_code=413):
            failed = _too_large(name, said)
        case ai.ModelRequestRejectedError() if _retry_hint(error) is not True:
            failed = Failed("model_refused", f"{name}: {said}", "see the provider's message")
        case ai.ModelHTTPError() if _is_final(error.status_code) and _retry_hint(error) is not True:
            failed = Failed("model_refused", f"{name}: {said}", "see the provider's message")
        case ai.ModelAPIError():
            return Faulted(f"{name}: {said}", error.retry_after)
        case ai.ContentFilterError():
            failed = Failed("model_refused", f"{name}: {said}", "the provider's content filter stopped the answer")
        case ai.OutputTokenLimitExceeded():
            failed = Failed(
                "empty_answer", f"{name} reached its output limit before it said anything", "raise `max_tokens`"
            )
        case _ if attempt.answered:
            failed = Failed("empty_answer", f"{name} answered without any text", "ask again, or use another model")
        case _:
            return Faulted(f"{name} sent an answer that cannot be read: {said}")
    return replace(failed, model=str(attempt.model))


def _too_large(name: str, said: str) -> Failed:
    return Failed(
        "prompt_too_large",
        f"the prompt does not fit into {name}: {said}",
        "set `limits.prompt_tokens` below the model's window, or use a model with a larger one",
    )


def _is_final(status: int) -> bool:
    return 400 <= status < 500 and status != 429 and status not in PASSING


def _retry_hint(error: AgentRunError) -> bool | None:
    """The provider's own `x-should-retry`, None where it says nothing."""
    hint = getattr(error, "provider_retry_hint", None)
    return hint if isinstance(hint, bool) else None


def _setting(model: ModelName) -> str:
    return "ANTHROPIC_API_KEY" if model.provider == "anthropic" else "OPENAI_API_KEY"


def _said(error: AgentRunError, providers: Providers) -> str:
    """The provider's own message, else the exception's, without keys and short enough for a comment."""
    body = getattr(error, "body", None)
    inner = body.get("error", body) if isinstance(body, dict) else None
    message = inner.get("message") if isinstance(inner, dict) else None
    status = getattr(error, "status_code", None)
    if isinstance(message, str) and message:
        text = f"{status} {message}" if isinstance(status, int) else message
    elif isinstance(status, int):
        text = f"HTTP status {status}"
    else:
        text = error.message
    text = " ".join(providers.scrub(text).split())
    return text if len(text) <= MESSAGE_CHARS else f"{text[:MESSAGE_CHARS]} […]"
