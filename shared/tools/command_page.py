"""The page of the ``ovos-memory`` command, made of its README and its help: ``python shared/tools/command_page.py``.

``shared/tests/test_command_page.py`` fails when page and help differ.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[1] / "docs" / "command-line.md"
_MOST_WIDE = 100
_README = Path(__file__).parents[2] / "packages" / "ovos-memory-cli" / "README.md"
_HELP = """## Every subcommand's help

As `ovos-memory SUBCOMMAND --help` prints it.
"""


def page() -> str:
    """Return the page: the package's README, and what the installed command's help says."""
    import click

    from ovos_memory.cli.main import cli

    context = click.Context(cli, info_name="ovos-memory", **cli.context_settings)
    readme = _README.read_text(encoding="utf-8").replace(
        "# ovos-memory-cli\n", "# The command `ovos-memory`\n", 1
    )
    parts = [readme, _HELP, _section(cli, "ovos-memory", None)]
    parts += [_section(cli.commands[name], name, context) for name in sorted(cli.commands)]
    return "\n".join(parts)


def _section(command: Any, name: str, parent: Any) -> str:
    import click

    settings = {"terminal_width": _MOST_WIDE, "max_content_width": _MOST_WIDE, **command.context_settings}
    with click.Context(command, info_name=name, parent=parent, **settings) as context:
        text = command.get_help(context)
    plain = "\n".join(line.rstrip() for line in text.splitlines())
    return f"### {name}\n\n```\n{plain}\n```\n"


if __name__ == "__main__":
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page(), encoding="utf-8")
