"""The one table of reasons why a vector, or a step of one, is not run."""

from tests.conformance.vectors import Vector

STEPS = {
    ("persist-ownership", "append on read handle"): "a reader holds values, which have no append",
    ("persist-ownership", "flush on read handle"): "a reader holds values, which have no flush",
    ("persist-unmaterialized-session", "files while pending"): "a created session is durable at once",
    ("persist-unmaterialized-session", "list after close"): "a created session is durable at once",
}
"""Steps of session/persistence that our store cannot be asked, by vector and what they do."""

MACROS_13 = "decision 18: its nesting by accident is not copied; single braces stay balanced"


def reason_to_skip(vector: Vector) -> str | None:
    folder = vector.family.split("/")[0]
    if folder in ("macros", "presets", "worldinfo"):
        return _recorded_bug(vector)
    if folder == "regex":
        return _recorded_bug(vector) or _regex(vector)
    if folder in ("cards", "chats"):
        return None
    if folder == "assembler":
        return MACROS_13 if vector.name == "macros-13" else None
    if folder != "session":
        return f"the runner of {folder} comes with what it tests"
    return None


def _recorded_bug(vector: Vector) -> str | None:
    """The rule of every folder: a defect that was recorded is run where it is said what should be instead."""
    fixed = "expectedFixed" in vector.body or "expectedStepsFixed" in vector.body
    return "a recorded bug of SillyTavern" if vector.body.get("stDefect") and not fixed else None


def _regex(vector: Vector) -> str | None:
    finds = [script.get("findRegex", "") for script in vector.body.get("scripts", ())]
    if any(find.startswith("/") and "\n" in find.strip() for find in finds):
        return "a line break between the slashes belongs to the pattern with us"
    if vector.name.startswith("group-out-of-range") and "zero" not in vector.name:
        return "a group that there is not is empty with us"
    return None


def reason_to_skip_step(vector: Vector, done: str) -> str | None:
    """Why one prose step is left out; the rest of its vector is run."""
    return STEPS.get((vector.name, done))
