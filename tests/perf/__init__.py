"""Performance as ratios on the machine at hand: `python -m tests.perf`.

Wall-clock numbers of one machine say nothing on another. Each row measures a path of ours and, in
turn with it, a yardstick that no implementation could do without, and prints how they compare.
"""
