"""The documents say what is true: their links lead somewhere, their commands and settings exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bot.i18n import catalogue
from bot.permissions import NEEDS
from bot.settings import ENV_PREFIX, STEERING, keys

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
EACH = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)


@EACH
def test_links_lead_to_files_that_exist(document: Path) -> None:
    targets = re.findall(r"]\((?!https?://)([^)#]+)", document.read_text(encoding="utf-8"))
    assert [target for target in targets if not (document.parent / target).is_file()] == []


@EACH
def test_settings_that_are_named_exist(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    known = {ENV_PREFIX + "__".join(path).upper() for path, _ in keys()} | STEERING
    assert set(re.findall(rf"{ENV_PREFIX}\w+", text)) - known == set()

    sections = {section for (section, _), _ in keys()}
    named = {tuple(name.split(".")) for name in re.findall(r"`(\w+\.\w+)(?: = [^`]+)?`", text)}
    assert {name for name in named if name[0] in sections} <= {path for path, _ in keys()}


@EACH
def test_slash_commands_that_are_named_exist(document: Path) -> None:
    named = re.findall(r"`/(\w+) (\w+)`", document.read_text(encoding="utf-8"))
    assert [pair for pair in named if f"commands.{pair[0]}.{pair[1]}.name" not in catalogue("en")] == []


def test_the_permissions_in_the_hosting_guide_are_those_that_the_bot_asks_for() -> None:
    table = (ROOT / "docs/hosting.md").read_text(encoding="utf-8").split("| permission | what for |")[1]
    rows = re.findall(r"^\| ([A-Z][^|]+) \|", table.split("\n\n")[0], re.MULTILINE)
    listed = {name.strip() for row in rows for name in row.split(",")}
    assert listed == {catalogue("en")[need.text_key] for need in NEEDS}
