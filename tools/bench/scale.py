r"""How `grounding eval` behaves from ten thousand steps to a million, and what a hundred million a day would need.

    python tools/bench/scale.py make DATA --steps 100000             # a data set with tiny pictures, one for each step
    python tools/bench/scale.py run --steps 10000 30000 100000       # measure; figures go to docs/scale.json
    python tools/bench/scale.py pair --steps 3000 --latency 0.2 --executors local ray
    python tools/bench/scale.py show                                 # the figures, and how times grow with the size
    python tools/bench/scale.py plan --per-day 1e8 --grounder-steps-per-s 2
    python tools/bench/scale.py readme                               # the table of README.md
    python tools/bench/scale.py page                                 # docs/scale.md and docs/scale.png from the figures

The server answers at once and at hardly any cost, so that what is measured is the evaluation itself. CPU seconds are
those of the writing process: on a machine that does other work too they mean more than the clock.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(Path(__file__).parent), str(ROOT)]

import scale_records  # noqa: E402  (runs from a checkout, too)
import scale_tables  # noqa: E402
from scale_data import make  # noqa: E402
from scale_measures import COMMANDS, Setting, measure_commands, measure_size, run_files, run_folder  # noqa: E402
from scale_pairs import measure_pair  # noqa: E402

FIGURES = ROOT / "docs" / "scale.json"
SCRATCH = Path(tempfile.gettempdir()) / "grounding-scale"


def this_machine(*, shared: bool) -> scale_records.Machine:
    """What the figures of today stand for."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return scale_records.Machine(
        processor=names[0] if names else platform.processor(),
        cores=os.cpu_count() or 1,
        memory_gb=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9,
        python=platform.python_version(),
        day=datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
        shared=shared,
    )


def stored(path: Path, *, shared: bool) -> scale_records.Measured:
    """The figures so far, on the machine as it is now."""
    import msgspec

    machine = this_machine(shared=shared)
    if not path.exists():
        return scale_records.Measured(machine=machine)
    return msgspec.structs.replace(scale_records.read(path), machine=machine)


def setting_for(given: argparse.Namespace, steps: int) -> Setting:
    """Where and what to measure at one size; the data set is made first."""
    distinct = not given.shared_pictures
    picture_bytes = getattr(given, "picture_bytes", 0)
    kind = f"{'distinct' if distinct else 'shared'}{f'-{picture_bytes}' if picture_bytes else ''}"
    data = given.folder / f"data-{steps}-{kind}"
    data.mkdir(parents=True, exist_ok=True)
    make(data, steps=steps, distinct=distinct, pictures=given.pictures, picture_bytes=picture_bytes)
    return Setting(
        tree=given.tree.resolve(),
        data=data.resolve(),
        folder=given.folder.resolve(),
        steps=steps,
        distinct=distinct,
        connections=given.connections,
        picture_bytes=picture_bytes,
        executor=getattr(given, "executor", "local"),
        workers=given.workers,
        options=tuple(given.option),
    )


def run_command(given: argparse.Namespace) -> None:
    """Measure every size, the smallest first, and store each as soon as it is there."""
    for steps in sorted(given.steps):
        found = measure_size(
            setting_for(given, steps),
            kill_within=given.kill_within,
            report=not given.no_report,
            resume=not given.no_resume,
            commands=not given.no_commands,
        )
        now = stored(given.into, shared=not given.quiet_machine)
        scale_records.write(given.into, scale_records.with_size(now, found))
    print(scale_tables.sizes_text(scale_records.read(given.into)))


def again_command(given: argparse.Namespace) -> None:
    """Measure once more what is done with a finished run, and put it into the figures of its size."""
    import msgspec

    now = stored(given.into, shared=not given.quiet_machine)
    for steps in given.steps:
        setting = setting_for(given, steps)
        kind = (steps, setting.distinct, setting.executor)
        (known,) = [one for one in now.sizes if (one.steps, one.distinct_pictures, one.executor) == kind]
        run = run_folder(setting.folder / "results")
        found = measure_commands(setting, run, given.only)
        others = [command for command in known.commands if command.name not in given.only]
        commands = tuple(sorted((*others, *found), key=lambda command: COMMANDS.index(command.name)))
        # The tables are there now; a page that the run itself did not write is none of its files.
        files = tuple(one for one in run_files(run) if known.has_report or not one.name.startswith("report"))
        now = scale_records.with_size(now, msgspec.structs.replace(known, commands=commands, files=files))
        scale_records.write(given.into, now)


def pair_command(given: argparse.Namespace) -> None:
    """Compare with the bare client, in the same minutes."""
    for steps in sorted(given.steps):
        setting = setting_for(given, steps)
        pair = measure_pair(setting, latency_s=given.latency, repeats=given.repeats, executors=tuple(given.executors))
        now = stored(given.into, shared=not given.quiet_machine)
        scale_records.write(given.into, scale_records.with_pair(now, pair))
    print(scale_tables.pairs_text(scale_records.read(given.into)))


def plan_command(given: argparse.Namespace) -> None:
    """Print what so many steps a day need."""
    from scale_daily import plan_text
    from scale_plan import Assumed, Given, measured_inputs, plan

    asked = Given(steps_per_day=given.per_day, replica_steps_per_s=given.grounder_steps_per_s)
    assumed = Assumed() if given.picture_kb is None else Assumed(picture_bytes=given.picture_kb * 1000)
    print(plan_text(plan(asked, measured_inputs(scale_records.read(given.into)), assumed)))


def readme_command(given: argparse.Namespace) -> None:
    """Print the table of README.md."""
    import scale_page

    print(scale_page.readme_table(scale_records.read(given.into)))


def page_command(given: argparse.Namespace) -> None:
    """Write the page and its plot from the figures."""
    import scale_page
    from scale_plot import draw

    measured = scale_records.read(given.into)
    page = given.into.with_name("scale.md")
    page.write_text(scale_page.page(measured), encoding="utf-8")
    draw(measured, given.into.with_name("scale.png"))
    print(page)


_COMMANDS = {
    "run": run_command,
    "again": again_command,
    "pair": pair_command,
    "plan": plan_command,
    "readme": readme_command,
    "page": page_command,
}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    making = commands.add_parser("make", help="write a data set")
    making.add_argument("out", type=Path)
    making.add_argument("--steps", type=int, required=True)
    making.add_argument("--shared", dest="shared_pictures", action="store_true", help="2,000 pictures for all steps")
    measuring = {
        "run": "measure sizes",
        "again": "re-score and read the last run again",
        "pair": "compare with a bare client",
    }
    for name, help_text in measuring.items():
        command = commands.add_parser(name, help=help_text)
        command.add_argument("--steps", type=int, nargs="+", required=True)
        command.add_argument("--connections", type=int, default=64)
        command.add_argument("--workers", type=int)
        command.add_argument("--shared-pictures", action="store_true", help="few pictures for all steps")
        command.add_argument("--pictures", type=int, default=2000, help="how many, if they are shared")
        command.add_argument("--tree", type=Path, default=ROOT, help="the checkout that is measured")
        command.add_argument("--folder", type=Path, default=SCRATCH, help="data sets and run folders")
        command.add_argument("--option", action="append", default=[], help="one more word for grounding eval")
        command.add_argument("--quiet-machine", action="store_true", help="nothing else ran meanwhile")
        if name == "run":
            command.add_argument("--executor", default="local")
            command.add_argument("--no-report", action="store_true", help="leave out the page at the end")
            command.add_argument(
                "--kill-within", action="store_true", help="kill and resume the run itself, not another"
            )
            command.add_argument("--no-resume", action="store_true", help="leave out the kill and the resume")
            command.add_argument("--no-commands", action="store_true", help="leave out re-scoring and reading")
        if name == "again":
            command.add_argument("--only", nargs="+", choices=COMMANDS, default=COMMANDS)
        if name == "pair":
            command.add_argument("--latency", type=float, default=0.2, metavar="SECONDS")
            command.add_argument("--picture-bytes", type=int, default=0, help="the least size of a picture")
            command.add_argument("--repeats", type=int, default=2)
            command.add_argument("--executors", nargs="+", default=["local", "ray"])
    commands.add_parser("show", help="print the figures")
    planning = commands.add_parser("plan", help="calculate what so many steps a day need")
    planning.add_argument("--per-day", type=float, default=1e8)
    planning.add_argument("--grounder-steps-per-s", type=float, help="what one replica does; else by arithmetic")
    planning.add_argument("--picture-kb", type=float)
    commands.add_parser("readme", help="print README.md's table")
    commands.add_parser("page", help="write docs/scale.md and docs/scale.png")
    for command in commands.choices.values():
        command.add_argument("--into", type=Path, default=FIGURES, help="the figures")
    return parser


def main() -> None:
    """Do what was asked for."""
    given = _parser().parse_args()
    if given.command == "make":
        given.out.mkdir(parents=True, exist_ok=True)
        print(make(given.out, steps=given.steps, distinct=not given.shared_pictures))
    elif given.command == "show":
        measured = scale_records.read(given.into)
        print(scale_tables.sizes_text(measured), scale_tables.pairs_text(measured), sep="\n")
    else:
        _COMMANDS[given.command](given)


if __name__ == "__main__":
    main()
