"""Draw `shared/docs/images/demo.svg`: the terminal of somebody who runs the demo, from its real output.

python shared/tools/draw_demo.py shared/docs/images/demo.svg
"""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

DEMO = Path(__file__).parents[1] / "examples" / "demo.py"
COLUMNS = 100
ASKED = re.compile(r"^ {2}When is my hospital appointment, for the knee\?$")
"""The question that the picture shows; the others are left out."""


def main(path: Path) -> None:
    """Run the demo and write the drawing."""
    path.write_text(draw(shorten(run())), encoding="utf-8")


def run() -> str:
    """Return what the demo writes to a terminal of :data:`COLUMNS` columns, colours included."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(COLUMNS), "TERM": "xterm-256color"}
    environment.pop("NO_COLOR", None)
    with subprocess.Popen(
        [sys.executable, DEMO], stdout=theirs, stderr=subprocess.DEVNULL, env=environment
    ) as demo:
        os.close(theirs)
        told = io.BytesIO()
        while piece := _read(ours):
            told.write(piece)
        os.close(ours)
    if demo.returncode:
        raise SystemExit(f"the demo ended with {demo.returncode}")
    return told.getvalue().decode().replace("\r\n", "\n")


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # Linux's way to say that the other end is closed
        return b""


def shorten(told: str) -> list[Text]:
    """Return the lines of the picture: the first things told, and one question in full."""
    numbers = dict.fromkeys(re.findall(r"process (\d+)", told))
    for place, number in enumerate(
        numbers, start=1
    ):  # the same picture whatever the system calls its processes
        told = told.replace(f"process {number}", f"process {place}")
    told = re.sub(r"(process \d+:[^\n]*)\n([^\n]*?)─+", _underlined, told)
    lines = [Text.from_ansi(line) for line in told.split("\n")]
    plain = [line.plain for line in lines]
    ends = next(number for number, line in enumerate(plain) if line.endswith("ends."))
    asked = next(number for number, line in enumerate(plain) if ASKED.match(line))
    after = next(
        number for number in range(asked + 1, len(plain)) if re.match(r"^ {2}[A-Z].*\?$", plain[number])
    )
    began = next(number for number, line in enumerate(plain) if line.strip())
    heading = Text("$ python3 noxfile.py -s demo", style="bold")
    return [
        heading,
        Text(),
        *lines[began : began + 8],
        Text("  …"),
        *lines[ends : ends + 4],
        *lines[asked - 1 : after],
    ]


def _underlined(found: re.Match[str]) -> str:
    """Return a heading and its line again, as long as the heading has become."""
    return f"{found[1]}\n{found[2]}{'─' * len(Text.from_ansi(found[1]).plain)}"


def draw(lines: list[Text]) -> str:
    """Return the lines as SVG, with the reader's own monospaced font: nothing is fetched."""
    console = Console(
        file=io.StringIO(), record=True, width=COLUMNS, force_terminal=True, color_system="truecolor"
    )
    for line in lines:
        console.print(line, soft_wrap=False)
    drawn = console.export_svg(title="OVOS memory", unique_id="demo")
    drawn = re.sub(r"@font-face \{.*?\}\s*", "", drawn, flags=re.DOTALL)
    return re.sub(r"font-family: Fira Code,", "font-family: ", drawn)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
