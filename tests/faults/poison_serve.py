"""`threadsmith serve` that ends, as a crash in C code would end it, over whatever holds the word of `POISON`."""

from __future__ import annotations

import os

from bot.dispatch.hearing import Hearing
from bot.engine import Desk
from bot.engine.commit import Begun, Performed, Terms
from bot.publish.comments import Comments
from bot.publish.performer import Act, Made
from bot.store.tables import Delivery
from tests.faults import serve


def main() -> None:
    """`POISON` is `hear WORD`, `send WORD` or `perform STEP`."""
    where, word = os.environ["POISON"].split()
    heard, performed, said = Hearing.hear, Desk.perform, Comments._say

    async def hear(self: Hearing, delivery: Delivery) -> bool:
        if where == "hear" and word.encode() in delivery.body:
            os._exit(139)
        return await heard(self, delivery)

    async def perform(self: Desk, begun: Begun, terms: Terms) -> Performed:
        if where == "perform" and begun.step.id == word:
            os._exit(139)
        return await performed(self, begun, terms)

    async def say(self: Comments, act: Act) -> Made:
        if where == "send" and word in act.row.body:
            os._exit(139)
        return await said(self, act)

    Hearing.hear, Desk.perform, Comments._say = hear, perform, say  # type: ignore[method-assign]
    serve.main()


if __name__ == "__main__":
    main()
