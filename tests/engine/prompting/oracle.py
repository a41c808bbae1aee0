"""SillyTavern's building once more, from the specification alone: slow, plain, and without our modules.

It knows nothing of macros and of post-processing. What it is given is what a recorded run is given.
"""

from typing import Any

NOTES = {
    "1_memory": "summary", "2_floating_prompt": "authorsNote", "3_vectors": "vectorsMemory",
    "4_vectors_data_bank": "vectorsDataBank", "chromadb": "smartContext",
}  # fmt: skip
SIDE = {0: "end", 2: "start"}
ROLE = ["system", "user", "assistant"]


class TooMuch(Exception):
    pass


class Request:
    def __init__(self, tokens: int) -> None:
        self.tokens = tokens
        self.places: dict[int, tuple[str, list[dict[str, Any]]]] = {}

    @staticmethod
    def cost(*messages: dict[str, Any]) -> int:
        return sum(len(m["content"].split()) + bool(m.get("name")) for m in messages)

    def pay(self, cost: int) -> None:
        if self.tokens < cost:
            raise TooMuch
        self.tokens -= cost

    def put(self, name: str, messages: list[dict[str, Any]], at: int | None = None) -> None:
        self.pay(self.cost(*messages))
        self.places[1 + max(self.places, default=-1) if at is None else at] = (name, messages)

    def into(self, name: str, message: dict[str, Any], first: bool = False) -> None:
        if self.tokens < self.cost(message):
            raise TooMuch
        if message["content"]:
            self.pay(self.cost(message))
            held = next(held for at, (its, held) in sorted(self.places.items()) if its == name)
            held.insert(0 if first else len(held), message)

    def has(self, name: str) -> bool:
        return any(its == name for its, _ in self.places.values())


def built(case: dict[str, Any]) -> tuple[list[dict[str, Any]], bool]:
    """The messages, and whether all of them had room."""
    settings, kind = case["settings"], case["type"]
    known = {p["identifier"]: p for p in case["prompts"]}
    enabled: dict[str, bool] = {}
    for entry in case["order"]:
        enabled.setdefault(entry["identifier"], entry["enabled"])
    slots: list[dict[str, Any]] = []
    for entry in case["order"]:
        prompt = known.get(entry["identifier"])
        if prompt is None:
            continue
        triggers = prompt.get("injection_trigger") or []
        if entry["enabled"] and (not triggers or kind in triggers):
            slots.append(dict(prompt))
        elif not entry["enabled"] and entry["identifier"] == "main":
            slots.append({**prompt, "content": ""})
    for source in sources(case):
        at = place(slots, source["identifier"])
        if at is None:
            slots.append(source)
            continue
        keys = ("injection_position", "injection_depth", "injection_order", "role")
        slots[at] = source | {key: slots[at][key] for key in keys if slots[at].get(key) is not None}
    request = Request(settings["budget"])
    try:
        fill(case, slots, enabled, request)
    except TooMuch:
        return finished(case, request), False
    return finished(case, request), True


def place(slots: list[dict[str, Any]], name: str) -> int | None:
    return next((at for at, slot in enumerate(slots) if slot["identifier"] == name), None)


def sources(case: dict[str, Any]) -> list[dict[str, Any]]:
    def one(name: str, text: str, role: str = "system", **more: Any) -> dict[str, Any]:
        return {"identifier": name, "content": text, "role": role, **more}

    found = [
        one(name, case.get(name, ""))
        for name in ("worldInfoBefore", "worldInfoAfter", "charDescription", "charPersonality", "scenario")
    ]
    found += [
        one("impersonate", case["settings"]["impersonation"]),
        one("quietPrompt", case["quiet"]),
        one("groupNudge", case["settings"]["group_nudge"]),
        one("bias", case["bias"], "assistant"),
    ]
    notes = case["extensions"]
    for key, name in NOTES.items():
        if key in notes and notes[key]["value"]:
            note = notes[key]
            role = "system" if key in ("3_vectors", "chromadb") else ROLE[note["role"]]
            side = None if key == "chromadb" else SIDE.get(note["position"])
            found.append(one(name, note["value"], role, side=side))
    if case["persona"]:
        found.append(one("personaDescription", case["persona"]))
    for key, note in notes.items():
        if key not in NOTES and note["value"] and note["position"] in SIDE:
            found.append(one(key, note["value"], ROLE[note["role"]], side=SIDE[note["position"]], more=True))
    return found


def plain(slot: dict[str, Any]) -> dict[str, Any]:
    return {
        "role": slot.get("role") or "system",
        "content": slot.get("content") or "",
        "id": slot["identifier"],
    }


def fill(
    case: dict[str, Any], slots: list[dict[str, Any]], enabled: dict[str, bool], request: Request
) -> None:
    settings = case["settings"]
    request.tokens -= 3
    control = fixed(case, slots, enabled, request)
    absolute = noted(slots, request)
    talk = spoken(case)  # newest first
    if case["type"] == "continue" and settings["continue_prefill"] and talk:
        last = talk.pop(0)
        if settings["names"] != 1:
            last.pop("name", None)
        control.append(last)
        request.tokens -= request.cost(last)
    talk = injected(talk, absolute, case["extensions"])
    if settings["pinned"]:
        examples(case, slots, request)
        history(case, slots, request, talk)
    else:
        history(case, slots, request, talk)
        examples(case, slots, request)
    request.tokens += request.cost(*control)
    if control:
        request.put("control", control)


def fixed(
    case: dict[str, Any], slots: list[dict[str, Any]], enabled: dict[str, bool], request: Request
) -> list[dict[str, Any]]:
    """All that stands at a place of the order; what is to be said last comes back."""

    def add(*names: str) -> None:
        for name in names:
            at = place(slots, name)
            if at is None or (enabled.get(name) is False and name != "main"):
                continue
            if slots[at].get("injection_position") != 1:
                request.put(name, [plain(slots[at])], at)

    add("worldInfoBefore", "main", "worldInfoAfter", "charDescription", "charPersonality", "scenario")
    add("personaDescription")
    control: list[dict[str, Any]] = []
    if case["type"] == "impersonate":
        control.append(plain(slots[place(slots, "impersonate") or 0]))
    if case["quiet"]:
        control.append(plain(slots[place(slots, "quietPrompt") or 0]))
    request.tokens -= request.cost(*control)
    relative = [slot for slot in slots if slot.get("injection_position") != 1]
    mine = [slot["identifier"] for slot in relative if slot.get("system_prompt") is False]
    add("nsfw", "jailbreak", *mine, "enhanceDefinitions")
    if case["bias"].strip():
        add("bias")
    return control


def noted(slots: list[dict[str, Any]], request: Request) -> list[dict[str, Any]]:
    """Notes come to the main prompt; the prompts that are in the chat come back, with it if it is there."""
    absolute = [slot for slot in slots if slot.get("injection_position") == 1]
    named = [slots[at] for name in NOTES.values() if (at := place(slots, name)) is not None]
    for note in (*named, *(slot for slot in slots if slot.get("more"))):
        if not note.get("side"):
            continue
        if request.has("main"):
            request.into("main", plain(note), note["side"] == "start")
        elif (at := place(absolute, "main")) is not None:
            copy = {**note, **{k: absolute[at].get(k) for k in ("injection_depth", "injection_order")}}
            absolute.insert(at + (note["side"] == "end"), copy)
    return absolute


def examples(case: dict[str, Any], slots: list[dict[str, Any]], request: Request) -> None:
    at = place(slots, "dialogueExamples")
    if at is None:
        return
    request.put("dialogueExamples", [], at)
    header = {"role": "system", "content": case["settings"]["new_example"], "id": "newChat"}
    for block in case["examples"]:
        if request.cost(header, *block) > request.tokens:
            break
        for message in (header, *block):
            request.into("dialogueExamples", dict(message))


def history(
    case: dict[str, Any], slots: list[dict[str, Any]], request: Request, talk: list[dict[str, Any]]
) -> None:
    settings, at = case["settings"], place(slots, "chatHistory")
    if at is None:
        return
    request.put("chatHistory", [], at)
    top = {"role": "system", "content": settings["new_chat"], "id": "newMainChat"}
    nudges = []
    if case["group"] and case["type"] != "impersonate":
        nudges.append(plain(slots[place(slots, "groupNudge") or 0]))
    rest = continued(case, talk)
    request.tokens -= request.cost(top, *nudges, *rest)
    empty = {"role": "user", "content": settings["send_if_empty"], "id": "empty"}
    silent = bool(talk) and talk[0]["role"] == "assistant" and bool(empty["content"])
    if silent and request.cost(empty) <= request.tokens:
        request.into("chatHistory", empty)
    for message in talk:
        if settings["names"] != 1:
            message.pop("name", None)
        if request.cost(message) > request.tokens:
            break
        request.into("chatHistory", message, True)
    request.tokens += request.cost(top)
    request.into("chatHistory", top, True)
    for nudge in nudges:
        request.tokens += request.cost(nudge)
        request.into("chatHistory", nudge)
    if rest:
        request.tokens += request.cost(*rest)
        request.put("continueNudge", rest)


def continued(case: dict[str, Any], talk: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What is gone on with, taken out of the talk, and the words that ask for it."""
    settings = case["settings"]
    if case["type"] != "continue" or not case["continued"] or settings["continue_prefill"]:
        return []
    found = []
    newest = next((n for n, message in enumerate(talk) if not message.get("injected")), None)
    if newest is not None:
        found.append({key: value for key, value in talk.pop(newest).items() if key != "name"})
    return [*found, {"role": "system", "content": settings["continue_nudge"], "id": "continueNudge"}]


def spoken(case: dict[str, Any]) -> list[dict[str, Any]]:
    names, found = case["settings"]["names"], []
    for line in reversed(case["chat"]):
        narrator, text = line["narrator"], line["mes"]
        label = False
        if names == 0:
            label = line["name"] != case["user"] and (
                bool(case["group"]) or (line["forced"] and not narrator)
            )
        elif names == 2:
            label = not narrator
        if label:
            text = f"{line['name']}: {text}"
        role = "system" if narrator else "user" if line["is_user"] else "assistant"
        message = {"role": role, "content": text.replace("\r", ""), "id": "chat"}
        if line["name"]:
            message["name"] = "".join(
                c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in line["name"]
            )
        found.append(message)
    return found


def injected(
    talk: list[dict[str, Any]], absolute: list[dict[str, Any]], extensions: dict[str, Any]
) -> list[dict[str, Any]]:
    put_in = 0
    for depth in range(60):
        new: list[dict[str, Any]] = []
        here = [s for s in absolute if s.get("injection_depth") == depth and s.get("content")]
        orders = {100} | {100 if s.get("injection_order") is None else s["injection_order"] for s in here}
        for order in sorted(orders, reverse=True):
            for role in ROLE:
                texts = [
                    s["content"]
                    for s in here
                    if s.get("role") == role
                    and order == (100 if s.get("injection_order") is None else s["injection_order"])
                ]
                notes = []
                if order == 100:
                    notes = [
                        note["value"].strip()
                        for _, note in sorted(extensions.items())
                        if note["position"] == 1 and note["value"]
                        and note["depth"] == depth and ROLE[note["role"]] == role
                    ]  # fmt: skip
                whole = "\n".join(t.strip() for t in ("\n".join(texts), "\n".join(notes)) if t)
                if whole:
                    new.append({"role": role, "content": whole, "injected": True, "id": "injected"})
        at = depth + put_in
        talk = talk[:at] + new + talk[at:]
        put_in += len(new)
    return talk


def finished(case: dict[str, Any], request: Request) -> list[dict[str, Any]]:
    flat = [dict(message) for _, (_, held) in sorted(request.places.items()) for message in held]
    if case["settings"]["squash"]:
        squashed: list[dict[str, Any]] = []

        def joins(m: dict[str, Any]) -> bool:
            apart = m.get("id") in ("newMainChat", "newChat", "groupNudge")
            return m["role"] == "system" and not m.get("name") and not apart

        for message in flat:
            if message["role"] == "system" and not message["content"]:
                continue
            if squashed and joins(squashed[-1]) and joins(message):
                squashed[-1]["content"] += "\n" + message["content"]
            else:
                squashed.append(message)
        flat = squashed
    return [
        {key: message[key] for key in ("role", "content", "name") if message.get(key)}
        for message in flat
        if message["content"]
    ]
