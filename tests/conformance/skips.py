"""The one table of reasons why a vector, or a step of one, is not run."""

from tests.conformance.vectors import Vector

CARDS_LATER = "Backyard files are refused kindly until the issue that reads them"

STEPS = {
    ("persist-ownership", "append on read handle"): "a reader holds values, which have no append",
    ("persist-ownership", "flush on read handle"): "a reader holds values, which have no flush",
    ("persist-unmaterialized-session", "files while pending"): "a created session is durable at once",
    ("persist-unmaterialized-session", "list after close"): "a created session is durable at once",
}
"""Steps of session/persistence that our store cannot be asked, by vector and what they do."""


def reason_to_skip(vector: Vector) -> str | None:
    folder = vector.family.split("/")[0]
    if folder == "cards":
        return CARDS_LATER if vector.name.endswith(".byaf") else None
    if folder != "session":
        return f"the runner of {folder} comes with what it tests"
    return None


def reason_to_skip_step(vector: Vector, done: str) -> str | None:
    """Why one prose step is left out; the rest of its vector is run."""
    return STEPS.get((vector.name, done))
