"""The bundled shop: what it promises, and that it can be made again."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
SAMPLE = ROOT / "datasets" / "sample-shop"


def read(name: str) -> Any:
    return json.loads((SAMPLE / name).read_text(encoding="utf-8"))


@pytest.mark.slow
@pytest.mark.needs("web")
def test_it_can_be_made_again(tmp_path: Path) -> None:
    """JSON to the byte; the checkpoint by its tensors where the same versions and processor made it, else by worth."""
    import torch

    subprocess.run(
        [sys.executable, "-m", "tools.sample_shop.build", "--out", str(tmp_path)], cwd=ROOT, check=True, timeout=280
    )
    made = {path.name for path in tmp_path.iterdir()}
    assert made == {path.name for path in SAMPLE.iterdir()}
    for name in sorted(made - {"README.md", "made-with.json", "sasrec.pth"}):
        assert (tmp_path / name).read_bytes() == (SAMPLE / name).read_bytes(), name
    tensors, known = (torch.load(folder / "sasrec.pth", weights_only=True) for folder in (tmp_path, SAMPLE))
    assert {name: tensor.shape for name, tensor in tensors.items()} == {
        name: tensor.shape for name, tensor in known.items()
    }
    if (tmp_path / "made-with.json").read_bytes() == (SAMPLE / "made-with.json").read_bytes():
        assert (tmp_path / "README.md").read_bytes() == (SAMPLE / "README.md").read_bytes()
        for name, tensor in tensors.items():
            assert torch.allclose(tensor, known[name], atol=1e-6), name
    else:
        recalls = [
            float(re.findall(r"recall at 10 is ([\d.]+)", (folder / "README.md").read_text(encoding="utf-8"))[0])
            for folder in (tmp_path, SAMPLE)
        ]
        assert recalls[0] == pytest.approx(recalls[1], abs=0.06)
