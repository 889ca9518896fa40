"""A stateful GitHub look-alike for demo and tests: REST, App auth, signed webhooks, git over HTTP, a thread page.

`World` holds the state and is what people do; `lookalike(world)` is its ASGI application; `LookAlikeServer` serves it
on a loopback port; `Deliverer` posts its webhooks. The shapes of answers follow GitHub's REST description and are
checked against it by `tests/contract/`, so that they cannot drift to suit the bot.
"""
