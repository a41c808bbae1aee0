"""inbox: splices folded one after the other into the two queues."""

from engine.agent.inbox import InboxState
from tests.conformance.compare import agree
from tests.conformance.vectors import Vector


def run(vector: Vector) -> None:
    state = InboxState()
    for number, step in enumerate(vector.body["steps"]):
        expect = step["expect"]
        try:
            state.apply(step["splice"])
            accepted = True
        except ValueError:
            accepted = False
        agree(f"step {number} ok", expect["ok"], accepted)
        if accepted:
            agree(f"step {number} nextTurn", expect["nextTurn"], [m["id"] for m in state.next_turn])
            agree(f"step {number} nextStep", expect["nextStep"], [m["id"] for m in state.next_step])
