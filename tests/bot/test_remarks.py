"""What an import noticed, said in two languages from one code and its facts."""

import json
from collections.abc import Iterator

import pytest

from bot.i18n import catalogue, t
from bot.remarks import remark_text
from engine.errors import ResourceError
from engine.resources import Diagnostic, compatibility, read_card
from tests.conformance.test_vectors import VECTORS
from tests.engine.resources.pngs import v2


def remarks() -> Iterator[Diagnostic]:
    """All that is noticed in the recorded cards."""
    for path in sorted((VECTORS / "cards").iterdir()):
        try:
            yield from compatibility(read_card(path.read_bytes(), path.name)).warnings
        except ResourceError:
            continue


@pytest.mark.parametrize("remark", sorted(set(remarks()), key=str), ids=lambda remark: remark.code)
def test_the_facts_of_a_remark_fill_its_text_in_every_language(remark: Diagnostic) -> None:
    assert t("en", f"diagnostics.{remark.code}", **remark.data) == remark.message
    chinese = remark_text("zh-CN", remark)
    assert chinese != remark.message
    assert "{" not in chinese


def test_a_chinese_reader_reads_chinese() -> None:
    card = read_card(json.dumps(v2("")).encode(), "the_witch.json")
    (remark,) = card.warnings
    assert remark_text("en", remark) == "The card has no name; it was named “the witch” after the file."
    assert remark_text("zh-CN", remark) == "角色卡没有名字，已按文件名取名为“the witch”。"


def test_a_code_without_a_text_is_told_as_it_came() -> None:
    remark = Diagnostic("no-such-code", "Something {odd} was seen.")
    assert remark_text("zh-CN", remark) == "Something {odd} was seen."
    assert "diagnostics.no-such-code" not in catalogue("zh-CN")
