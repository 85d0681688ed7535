"""Options that make no sense for a data set of desktop tasks, and those that make sense for nothing else."""

from __future__ import annotations

from grounding.errors import UserError
from grounding.options import DesktopScoringName, EvalOptions, ScoringName

_NO_PLANNER = "an agent gets no plan: it reads the instruction and its memory itself"
_NO_HISTORY = "an agent is told its memory and no history; see --memory"

_SENSELESS = {
    "planner": _NO_PLANNER,
    "planner_prompt": _NO_PLANNER,
    "planner_model": _NO_PLANNER,
    "plan_ahead": _NO_PLANNER,
    "planner_base_url": _NO_PLANNER,
    "plans": _NO_PLANNER,
    "history": _NO_HISTORY,
    "history_file": _NO_HISTORY,
    "history_scope": _NO_HISTORY,
    "questions": "desktop tasks have one file each and no questions file",
    "transcript": "desktop tasks have no recordings",
    "asr_base_url": "desktop tasks have no recordings",
    "noise_dir": "desktop tasks have no recordings",
    "participant": "desktop tasks have no participants; choose with --kind or --sample-id",
    "clusters": "desktop tasks have no participants: their intervals are over tasks",
    "send": "agents are sent their screenshots in the request",
    "backend": "agents are asked over a server",
    "model_path": "agents are asked over a server",
    "dtype": "agents are asked over a server",
    "device": "agents are asked over a server",
    "batch_size": "agents are asked over a server",
    "dry_run": "what an agent would be asked is not counted yet; try a few steps with --limit",
}
"""What is not for desktop tasks, and why."""

_ONLY_DESKTOP = ("memory", "style", "attempts", "kind", "tolerance")


def refuse_senseless(options: EvalOptions) -> None:
    """Refuse what is not for desktop tasks.

    Raises:
        UserError: says which option, and why.
    """
    usual = EvalOptions()
    for name, why in _SENSELESS.items():
        if getattr(options, name) != getattr(usual, name) and not (name == "backend" and options.backend == "server"):
            raise UserError(f"--{name.replace('_', '-')}: {why}; leave it out for {options.dataset}")


def point_scoring(options: EvalOptions, scoring: DesktopScoringName, *, published: bool) -> ScoringName:
    """Which definition to show of a data set that is answered with points; refuses what is for desktop tasks alone.

    Raises:
        UserError: says which option.
    """
    usual = EvalOptions()
    given = [name for name in _ONLY_DESKTOP if getattr(options, name) != getattr(usual, name)]
    given += ["published"] if published else []
    if given:
        raise UserError(
            f"--{given[0]}: is for desktop tasks, which are answered with actions; {options.dataset} is answered with "
            "points: leave it out"
        )
    if scoring == "strict":
        raise UserError("--scoring strict: is for desktop tasks; choose paper or official")
    return scoring
