"""From a delivery to dispatches: what it means, what is asked, and whether the sender may ask it."""

from bot.dispatch.actions import Actions
from bot.dispatch.admission import Ceilings
from bot.dispatch.commands import is_builtin_only
from bot.dispatch.identity import Identities, Identity
from bot.dispatch.intake import Intake
from bot.dispatch.intended import ThreadIntents
from bot.dispatch.log_reading import LogReading, Missing
from bot.dispatch.missed import LANDMARK, Missed
from bot.dispatch.parts import DEBOUNCE, Parts
from bot.dispatch.starting import issue_values
from bot.dispatch.timetable import Timetable

__all__ = [
    "DEBOUNCE",
    "LANDMARK",
    "Actions",
    "Ceilings",
    "Identities",
    "Identity",
    "Intake",
    "LogReading",
    "Missed",
    "Missing",
    "Parts",
    "ThreadIntents",
    "Timetable",
    "is_builtin_only",
    "issue_values",
]
