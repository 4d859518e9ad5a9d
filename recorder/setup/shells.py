"""Settings written for a shell, a batch script, a pod or a launcher, ready to use there."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from typing import Callable, NamedTuple


class Advice(NamedTuple):
    """A variable to set, what it does, and what the release does without it. With `value` None: nothing to set."""

    name: str
    value: str | None
    comment: str


class Plan(NamedTuple):
    """What to write: comments for the top, the variables, and a folder that must be there before the job."""

    head: Sequence[str]
    advice: Sequence[Advice]
    folder: str | None


def bash(plan: Plan) -> str:
    """For `eval "$(frtui env)"`, and for zsh and sh as well."""
    return _script(plan, lambda name, value: f"export {name}={shlex.quote(value)}", shlex.quote)


def fish(plan: Plan) -> str:
    """For `frtui env --for fish | source`."""
    return _script(plan, lambda name, value: f"set -gx {name} {_fish_quote(value)}", _fish_quote)


def slurm(plan: Plan) -> str:
    """Lines for an sbatch script."""
    notes = [
        "",
        "# srun hands the environment on to all nodes; --export=ALL says so where a site has another default.",
        "# Not --export=NAME=VALUE: it drops the rest, and a comma in a value ends it.",
        "# Files on a node's own disk must be copied together: sgather does that; or use --dir with a shared one.",
        "srun --export=ALL python train.py  # your command",
        "",
    ]
    return bash(plan) + "\n".join(notes)


def k8s(plan: Plan) -> str:
    """An `env:` list for a container; strings are written as JSON, which YAML reads."""
    lines = _head(plan)
    if plan.folder:
        lines.append(f"# {plan.folder} must be on a mounted volume, and exist before the job starts")
    chosen = [each for each in plan.advice if each.value is not None]
    lines.append("env:" if chosen else "env: []")
    for each in plan.advice:
        lines.append(f"  # {each.comment}")
        if each.value is not None:
            # $(NAME) in a value is replaced by Kubernetes; $$ stands for one $.
            value = json.dumps(each.value.replace("$(", "$$("))
            lines += [f"  - name: {each.name}", f"    value: {value}"]
    return "\n".join(lines) + "\n"


def torchrun(plan: Plan) -> str:
    """A command line to put before the script and its arguments."""
    lines = [*_head(plan), *(f"# {each.comment}" for each in plan.advice)]
    words = [f"{each.name}={shlex.quote(each.value)}" for each in plan.advice if each.value is not None]
    make = [f"mkdir -p -- {shlex.quote(plan.folder)} &&"] if plan.folder else []
    command = " \\\n  ".join([*make, *(["env", *words] if words else []), "torchrun --nproc-per-node=gpu train.py"])
    return "\n".join(lines) + f"\n{command}\n"


FORMATS: dict[str, Callable[[Plan], str]] = {
    "bash": bash,
    "fish": fish,
    "slurm": slurm,
    "k8s": k8s,
    "torchrun": torchrun,
}


def _head(plan: Plan) -> list[str]:
    return [f"# {line}" for line in plan.head]


def _script(plan: Plan, assign: Callable[[str, str], str], quote: Callable[[str], str]) -> str:
    lines = _head(plan)
    for each in plan.advice:
        lines.append(f"# {each.comment}")
        if each.value is not None:
            lines.append(assign(each.name, each.value))
    if plan.folder:
        lines += ["# torch makes no folder", f"mkdir -p -- {quote(plan.folder)}"]
    return "\n".join(lines) + "\n"


def _fish_quote(text: str) -> str:
    """In fish's single quotes only \\ and ' mean something."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
