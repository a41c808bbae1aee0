"""What of the prompt stands in a session's history: its system nodes, and the newest snapshot of facts.

Every request asks for it, so it is a fold: only what was logged since is read, however long the story
is. Only a replacement of more than one system text makes it look back over the surface.
"""

from __future__ import annotations

from weakref import WeakKeyDictionary

from engine.session import Event, Session, is_replacement_event, is_surface_event

__all__ = ["CONTRIBUTION_KIND", "SNAPSHOT_KIND", "Standing", "is_snapshot", "standing"]

SNAPSHOT_KIND = "runtime-context"
"""The source kind of the messages that hold the runtime facts."""

CONTRIBUTION_KIND = "dsh-prompt-assembler"
"""The source kind of what a strategy says beside a step's input: nobody's words."""


class Standing:
    """One session's, as of the last `follow`."""

    def __init__(self, session: Session) -> None:
        self.system: list[Event] = []
        """The system messages that are nodes of the surface, in its order, empty ones too."""
        self.snapshot: Event | None = None
        """The newest snapshot that is a node of the surface."""
        self.had_snapshot = False
        """Whether there ever was one."""
        self._read = 0
        self.follow(session)

    def follow(self, session: Session) -> None:
        """Read on to the end of the log."""
        looks_back = False
        for event in session.events(self._read):
            if not is_surface_event(event):
                continue
            if is_replacement_event(event):
                looks_back = not self._rewrites(event) or looks_back
            elif event.type == "system/message":
                self.system.append(event)
            if is_snapshot(event):
                self.snapshot, self.had_snapshot = event, True
        self._read = session.seq
        if looks_back:
            self._look_back(session)

    def _rewrites(self, event: Event) -> bool:
        """Whether the event is another text for one system node, as most replacements are; then take it."""
        op = event.surface_op
        if event.type != "system/message" or op["startSeq"] != op["endSeq"]:
            return False
        for place, node in enumerate(self.system):
            if node.seq == op["startSeq"]:
                self.system[place] = event
                return True
        return False

    def _look_back(self, session: Session) -> None:
        nodes = [session.event(seq) for seq in session.surface.nodes]
        self.system = [node for node in nodes if node.type == "system/message"]
        self.snapshot = next(filter(is_snapshot, reversed(nodes)), None)


def standing(session: Session) -> Standing:
    """What stands in the session now. Kept for as long as the session is."""
    found = _known.get(session)
    if found is None:
        found = _known[session] = Standing(session)
    else:
        found.follow(session)
    return found


_known: WeakKeyDictionary[Session, Standing] = WeakKeyDictionary()


def is_snapshot(event: Event) -> bool:
    return event.type == "user/message" and event.data["source"].get("kind") == SNAPSHOT_KIND
