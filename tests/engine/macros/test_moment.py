"""Dates and durations as Moment writes them."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.macros.moment import formatted, humanized, parsed, since

WHEN = datetime(2024, 3, 5, 14, 7, 9, 123456, tzinfo=timezone(timedelta(hours=5, minutes=30)))


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("M Mo MM MMM MMMM Q Qo", "3 3rd 03 Mar March 1 1st"),
        ("D Do DD DDD DDDo DDDD", "5 5th 05 65 65th 065"),
        ("d do dd ddd dddd e E", "2 2nd Tu Tue Tuesday 2 2"),
        ("w wo ww W Wo WW", "10 10th 10 10 10th 10"),
        ("YY YYYY YYYYYY Y gg gggg GG GGGG", "24 2024 +002024 2024 24 2024 24 2024"),
        ("A a H HH h hh k kk m mm s ss", "PM pm 14 14 2 02 14 14 7 07 9 09"),
        ("S SS SSS SSSS", "1 12 123 1230"),
        ("Z ZZ X x", "+05:30 +0530 1709627829 1709627829123"),
        ("LT|LTS|L|l", "2:07 PM|2:07:09 PM|03/05/2024|3/5/2024"),
        ("LL|ll", "March 5, 2024|Mar 5, 2024"),
        ("LLLL", "Tuesday, March 5, 2024 2:07 PM"),
        ("llll", "Tue, Mar 5, 2024 2:07 PM"),
        ("[Today is] dddd [[]]", "Today is Tuesday [[]]"),
        (r"\d\Y", "dY"),
        ("Hmm hmmss", "1407 20709"),
        ("YYYY年M月D日", "2024年3月5日"),
    ],
)
def test_format_tokens(pattern: str, expected: str) -> None:
    assert formatted(WHEN, pattern) == expected


@pytest.mark.parametrize(
    ("day", "expected"),
    [
        ("2024-12-28", "52 2024"),
        ("2024-12-29", "1 2025"),
        ("2023-01-01", "1 2023"),
        ("2022-12-31", "53 2022"),
        ("2021-12-25", "52 2021"),
        ("2021-12-26", "1 2022"),
    ],
)
def test_american_weeks(day: str, expected: str) -> None:
    assert formatted(datetime.fromisoformat(day), "w gggg") == expected


@pytest.mark.parametrize(
    ("number", "expected"), [(1, "1st"), (2, "2nd"), (3, "3rd"), (11, "11th"), (22, "22nd")]
)
def test_ordinals(number: int, expected: str) -> None:
    assert formatted(datetime(2024, 1, number), "Do") == expected


@pytest.mark.parametrize(
    ("length", "expected"),
    [
        (timedelta(seconds=44), "a few seconds"),
        (timedelta(seconds=45), "a minute"),
        (timedelta(seconds=89), "a minute"),
        (timedelta(seconds=90), "2 minutes"),
        (timedelta(minutes=44), "44 minutes"),
        (timedelta(minutes=45), "an hour"),
        (timedelta(minutes=90), "2 hours"),
        (timedelta(hours=21), "21 hours"),
        (timedelta(hours=22), "a day"),
        (timedelta(hours=36), "2 days"),
        (timedelta(days=25), "25 days"),
        (timedelta(days=26), "a month"),
        (timedelta(days=46), "2 months"),
        (timedelta(days=319), "10 months"),
        (timedelta(days=320), "a year"),
        (timedelta(days=548), "2 years"),
    ],
)
def test_durations_are_rounded_as_people_speak(length: timedelta, expected: str) -> None:
    assert humanized(length) == expected
    assert humanized(-length, suffix=True) == f"{expected} ago"
    assert humanized(length, suffix=True) == f"in {expected}"


@pytest.mark.parametrize(
    "text",
    [
        "2024-03-05T14:07:00Z",
        "2024-03-05 14:07:00",
        "2024-03-05 14:07",
        "2024/03/05 14:07",
        "March 5, 2024 2:07 PM",
        "March 5, 2024 2:07pm",
        "03/05/2024 2:07 PM",
        "Tue, 5 Mar 2024 14:07:00 GMT",
        "2024-03-05@14h07m00s",
    ],
)
def test_dates_are_read_as_they_are_written(text: str) -> None:
    assert parsed(text, UTC) == datetime(2024, 3, 5, 14, 7, tzinfo=UTC)


@given(st.text(max_size=70))
def test_reading_a_date_never_fails(text: str) -> None:
    when = parsed(text, UTC)
    assert when is None or when.tzinfo is not None


@given(st.text(max_size=40), st.datetimes(timezones=st.just(UTC)))
def test_any_pattern_can_be_formatted(pattern: str, when: datetime) -> None:
    formatted(when, pattern)
    assert since(when, WHEN) == WHEN - when
