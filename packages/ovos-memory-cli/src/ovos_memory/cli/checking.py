"""``doctor``: finds what makes memory silently useless, and says how to mend it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from ovos_memory.cli.blocks import Block, blocks_of
from ovos_memory.cli.checks_config import config_findings
from ovos_memory.cli.checks_models import model_findings
from ovos_memory.cli.checks_store import store_findings
from ovos_memory.cli.options import FAILED, json_option, memory_option
from ovos_memory.cli.output import Output
from ovos_memory.cli.target import Target

if TYPE_CHECKING:
    from ovos_memory.core.management_types import Trouble


@click.command()
@memory_option
@click.option("--offline", is_flag=True, help="Ask no server and load no model.")
@json_option
def doctor(target: Target, offline: bool, is_json: bool) -> None:
    """Look for what makes memory silently useless; exit code 1 when there is a problem."""
    out = Output(is_json=is_json)
    found = list(findings(target, is_offline=offline))
    if is_json:
        out.json([asdict(finding) for finding in found])
    elif found:
        for finding in found:
            style = "bold red" if finding.level == "problem" else "yellow"
            out.line(f"{finding.level}: {finding.where}: {finding.what}", style=style)
            out.line(f"    {finding.remedy}")
    else:
        out.line(f"{target.name}: nothing is wrong")
    if any(finding.level == "problem" for finding in found):
        sys.exit(FAILED)


def findings(target: Target, *, is_offline: bool) -> Iterator[Trouble]:
    """Yield everything that is found."""
    blocks = blocks_of(target)
    yield from config_findings(target, blocks)
    yield from _stores(target, blocks, is_offline=is_offline)
    if not is_offline:
        yield from model_findings(target, blocks)


def _stores(target: Target, blocks: list[Block], *, is_offline: bool) -> Iterator[Trouble]:
    if blocks[0].error or not blocks[0].module:
        return
    try:
        memory = target.open()
    except click.ClickException:
        return  # it is not installed, which has been told
    yield from store_findings(memory, blocks, is_offline=is_offline)
