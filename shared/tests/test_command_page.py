"""What the documentation says of the command is what the command says of itself."""

from __future__ import annotations

import re

import pytest

import command_page
from ovos_memory.cli.main import cli


def test_the_page_is_what_the_help_says() -> None:
    made = command_page.page()

    assert command_page.PAGE.read_text(encoding="utf-8") == made, "python shared/tools/command_page.py"
    assert re.findall(r"^### (\S+)$", made, re.MULTILINE) == ["ovos-memory", *sorted(cli.commands)]


@pytest.mark.parametrize("name", sorted(cli.commands))
def test_the_help_explains_everything(name: str) -> None:
    section = command_page.page().split(f"\n### {name}\n")[1].split("\n### ")[0]

    for parameter in cli.commands[name].params:
        for option in parameter.opts if parameter.param_type_name == "option" else ():
            assert option in section
    assert "Usage: ovos-memory " in section
