"""An open question to readers: they can only answer with what their texts are about, whatever is asked."""

from __future__ import annotations

from maci.controller.inputs import Opened
from maci.evidence.knowledge import conditions
from maci.seating.spec import is_reader


def unnamed(opened: Opened) -> str:
    """What a person should know where no outcome is named and readers answer from the built-in knowledge; else nothing."""
    space = opened.case.outcomes
    models = [str(seat.get("model", "")) for seat in (opened.table or {}).get("agents", ())]
    reading = opened.panel == "readers" or any(map(is_reader, models))
    if space.kind != "open" or space.labels or opened.corpus or not reading:
        return ""
    labels = len({document.label for document in opened.case.evidence if document.label})
    own = (
        f" and the {labels} labels of the evidence"
        if labels > 1
        else " and the label of the evidence"
        if labels
        else ""
    )
    return (
        f"No outcomes are named, so the readers choose among the {len(conditions())} conditions of the built-in medical "
        f"knowledge{own}, whatever the question is about."
    )
