"""A pattern that times out three times is not run any more."""

from engine.patterns import Watch, compile_pattern


def test_the_third_timeout_disables_and_says_so_once() -> None:
    watch = Watch()
    pattern = compile_pattern("(a+)+$")

    assert [watch.late(pattern) for _ in range(4)] == [False, False, True, False]
    assert not watch.allows(pattern)
    assert watch.disabled() == (("(a+)+$", ""),)


def test_each_pattern_has_its_own_count() -> None:
    watch = Watch(strikes=1)
    pattern, other = compile_pattern("a"), compile_pattern("a", "i")

    assert watch.late(pattern)

    assert not watch.allows(pattern)
    assert watch.allows(other)


def test_a_pardon_gives_it_all_its_tries_again() -> None:
    watch = Watch(strikes=2)
    pattern = compile_pattern("a")
    watch.late(pattern)
    watch.late(pattern)

    watch.pardon(pattern)

    assert watch.allows(pattern)
    assert [watch.late(pattern) for _ in range(2)] == [False, True]
