"""Runners for recorded vectors: what the real thing did, against what ours does.

`python -m tests.conformance [FAMILY…] [--vectors DIR]`. A family is a folder of the vectors, or one file
in it without its ending. The runner takes any directory of the same layout.
"""
