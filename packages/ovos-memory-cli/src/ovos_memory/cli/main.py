"""The command itself: its subcommands, and how it ends."""

from __future__ import annotations

import os
import sys

import click

from ovos_memory.cli.changing import edit, forget, reindex
from ovos_memory.cli.chatting import chat
from ovos_memory.cli.checking import doctor
from ovos_memory.cli.explaining import explain
from ovos_memory.cli.looking import list_records, search, show, stats
from ovos_memory.cli.options import FAILED
from ovos_memory.cli.plugins import plugins
from ovos_memory.cli.transfer import export, import_, recover

_COMMANDS = (
    list_records,
    show,
    search,
    explain,
    stats,
    forget,
    edit,
    export,
    import_,
    recover,
    reindex,
    chat,
    doctor,
    plugins,
)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="ovos-memory-cli")
@click.option("-v", "--verbose", is_flag=True, help="Show the log of the memories on stderr.")
def cli(verbose: bool) -> None:
    """See, search, correct, take along and forget what OVOS memories hold.

    Exit codes: 0 done, 1 failed, 2 wrong call, 3 nothing found, 4 forgotten but traces are left.
    """
    level = "DEBUG" if verbose else os.environ.setdefault("OVOS_DEFAULT_LOG_LEVEL", "ERROR")
    from ovos_utils.log import LOG

    LOG.set_level(level)


for command in _COMMANDS:
    cli.add_command(command)


def main() -> None:
    """Run the command; errors of a memory end it with one line and exit code 1."""
    from ovos_memory.core.errors import OvosMemoryError

    try:
        code = cli.main(prog_name="ovos-memory", standalone_mode=False)
    except click.ClickException as error:
        from ovos_memory.cli.output import safe

        vars(error)["message"] = safe(error.message)  # final by its annotation, and quoted from stored text
        error.show()
        sys.exit(error.exit_code)
    except click.Abort:
        print("Aborted!", file=sys.stderr)
        sys.exit(FAILED)
    except BrokenPipeError:  # whoever reads has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os._exit(FAILED)
    except (OvosMemoryError, OSError, ValueError) as error:
        from ovos_memory.cli.output import safe

        print(f"Error: {safe(error)}", file=sys.stderr)
        sys.exit(FAILED)
    sys.exit(code if isinstance(code, int) else 0)


if __name__ == "__main__":
    main()
