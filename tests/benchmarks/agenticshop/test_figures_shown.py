"""The figures of the sample's shops in docs/agenticshop.md are those that its command gives."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import shell

PAGE = Path(__file__).parents[3] / "docs" / "agenticshop.md"


@pytest.mark.slow
@pytest.mark.timeout(1_800)
@pytest.mark.usefixtures("chromium")
def test_the_table_of_the_mall_is_what_its_command_prints(tmp_path: Path) -> None:
    block = re.search(r"<!-- mall:start -->\n```\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert block is not None
    options = ["--dataset", "sample-mall", "--display", "none", "--no-report", "--log-dir", tmp_path]
    done = shell.call(*options)
    assert done.returncode == 0, done.stderr
    printed = {line.rstrip() for line in done.stdout.splitlines()}
    shown = [line for line in block[1].splitlines() if not line.startswith("time ")]
    assert [line for line in shown if line not in printed] == []
