"""What holds for every test: this machine only, no settings from outside, hypothesis profiles, and every
request of the loop compared with its log."""

from __future__ import annotations

import os
from pathlib import Path

import hypothesis
import pytest

from bot.settings import ENV_PREFIX, Settings
from engine.agent import invariants
from tests import network

network.forbid()
invariants.CHECKED = True

# A shared machine stalls now and then: a deadline per example would fail for that alone.
hypothesis.settings.register_profile("dev", deadline=None, max_examples=50)
# The same examples in every run, so that a red CI is somebody's change and not bad luck.
hypothesis.settings.register_profile("ci", deadline=None, max_examples=100, derandomize=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "dev")


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(ENV_PREFIX):
            monkeypatch.delenv(name)


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """A folder of this test's own for databases and the like."""
    folder = tmp_path / "data"
    folder.mkdir()
    return folder


@pytest.fixture
def settings(data_dir: Path) -> Settings:
    """The defaults, with the database in `data_dir` and a narrator that does not make anyone wait."""
    return Settings.model_validate(
        {"storage": {"path": data_dir / "inglenook.db"}, "narrator": {"words_per_second": 0}}
    )
