"""Strategies as people look at them, change them and let stories use them.

Panels are pure (`panel`, `module`, `parts`, `passage`, `whole`); a desk answers what is pressed on them
(`desk`, `partdesk`, `wholedesk`, with what they share in `editor`); `draft` and `keeper` keep what is not
saved yet, and save it.
"""
