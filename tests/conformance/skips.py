"""The one table of reasons why a vector is not run."""

from tests.conformance.vectors import Vector

NOT_BUILT = {
    "session/migrations": "formats before 4 are not read yet",
}

OTHER_BY_DESIGN = {
    "persist-ownership": "we fence writers by epoch where the recording locks a handle",
    "persist-unmaterialized-session": "a created session is durable at once: there is none in process only",
    "persist-torn-tail": "rows are written in transactions: a store has no torn tail",
}

CARDS_LATER = "Backyard files are refused kindly until the issue that reads them"

HOLES = "the recorded log lacks events, which no log can"


def reason_to_skip(vector: Vector) -> str | None:
    folder = vector.family.split("/")[0]
    if vector.family in NOT_BUILT:
        return NOT_BUILT[vector.family]
    if folder == "cards":
        return CARDS_LATER if vector.name.endswith(".byaf") else None
    if folder != "session":
        return f"the runner of {folder} comes with what it tests"
    if vector.family == "session/persistence":
        return OTHER_BY_DESIGN.get(vector.name)
    if vector.family == "session/paging":
        seqs = [event["seq"] for event in vector.document["events"]]
        return None if seqs == list(range(len(seqs))) else HOLES
    return None
