"""What people say of the history: which old texts later requests do without.

A policy that says nothing but what goes without saying is not written down. Source: assembler spec 7; seed
001.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from engine.assembler.faults import refuse
from engine.assembler.history_policy import DEFAULT_POLICY, Fragment, HistoryPolicy, read_policy
from engine.assembler.strategy import Strategy
from engine.ids import new_id

__all__ = [
    "CONTENT_TYPES",
    "add_fragment",
    "advanced_history",
    "change_fragment",
    "fragment_of",
    "leave_out_content",
    "policy_of",
    "remove_fragment",
    "switch_tidying",
    "take_out",
    "without_advanced_history",
]

CONTENT_TYPES: Final = ("text", "image", "reasoning")


def policy_of(strategy: Strategy) -> HistoryPolicy:
    """What holds, also where nothing was said."""
    return strategy.history_policy or DEFAULT_POLICY


def switch_tidying(strategy: Strategy, *, on: bool) -> Strategy:
    """Whether the policy holds at all. The one undoes the other."""
    return _changed(strategy, lambda policy: replace(policy, enabled=on))


def take_out(strategy: Strategy, kinds: Mapping[str, bool]) -> Strategy:
    """Whether old messages of these kinds of sources go; nothing is said of others. Raises AssemblyError
    HISTORY_POLICY_INVALID for more kinds than there can be."""
    included = {kind: not goes for kind, goes in kinds.items()}
    return _changed(strategy, lambda policy: replace(policy, sources={**policy.sources, **included}))


def leave_out_content(strategy: Strategy, *, text: bool, image: bool, reasoning: bool) -> Strategy:
    """Which kinds of content old messages lose; the advanced back end does it."""
    return _changed(
        strategy, lambda policy: replace(policy, text=not text, image=not image, reasoning=not reasoning)
    )


def fragment_of(strategy: Strategy, fragment_id: str) -> Fragment:
    """Raises AssemblyError HISTORY_FRAGMENT_NOT_FOUND."""
    found = next((each for each in policy_of(strategy).fragments if each.id == fragment_id), None)
    if found is None:
        raise refuse(
            "HISTORY_FRAGMENT_NOT_FOUND", "This passage is not in the strategy any more.", status=404
        )
    return found


def add_fragment(
    strategy: Strategy, source_kind: str, start: str, end: str, mode: str
) -> tuple[Strategy, str]:
    """Another passage that old messages lose, and its id; the advanced back end does it. `remove_fragment`
    undoes it. Raises AssemblyError HISTORY_POLICY_INVALID."""
    fragment = Fragment(new_id("part"), source_kind, start, end, mode)  # type: ignore[arg-type]  # read below
    changed = _changed(strategy, lambda policy: replace(policy, fragments=(*policy.fragments, fragment)))
    return changed, fragment.id


def change_fragment(strategy: Strategy, fragment_id: str, patch: Mapping[str, object]) -> Strategy:
    """Members of a passage by their names here. Raises as the two above."""
    known = fragment_of(strategy, fragment_id)
    changed = replace(known, **patch)  # type: ignore[arg-type]  # read below
    return _changed(
        strategy,
        lambda policy: replace(
            policy, fragments=tuple(changed if each is known else each for each in policy.fragments)
        ),
    )


def remove_fragment(strategy: Strategy, fragment_id: str) -> Strategy:
    """Without the passage. Raises AssemblyError HISTORY_FRAGMENT_NOT_FOUND."""
    known = fragment_of(strategy, fragment_id)
    return _changed(
        strategy,
        lambda policy: replace(policy, fragments=tuple(it for it in policy.fragments if it is not known)),
    )


def advanced_history(strategy: Strategy) -> bool:
    """Whether it asks of the history what only the advanced back end can do."""
    policy = policy_of(strategy)
    return not policy.text or not policy.image or any(each.enabled for each in policy.fragments)


def without_advanced_history(strategy: Strategy) -> Strategy:
    """With nothing of that: kinds of content stay, and passages are switched off, not lost."""
    return _changed(
        strategy,
        lambda policy: replace(
            policy,
            text=True,
            image=True,
            fragments=tuple(replace(each, enabled=False) for each in policy.fragments),
        ),
    )


def _changed(strategy: Strategy, change: Callable[[HistoryPolicy], HistoryPolicy]) -> Strategy:
    policy = read_policy(change(policy_of(strategy)).to_wire())
    return replace(strategy, history_policy=None if policy == DEFAULT_POLICY else policy)
