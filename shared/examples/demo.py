"""A persona is told a dozen things, its process ends, another process asks.

    python demo.py                                        no model: shows what the chat engine would get
    python demo.py --api-url http://localhost:11434/v1    a model answers, through ovos-chat-openai-plugin

Everything is real: an `ovos_persona.Persona`, the composite memory, its members on disk: recall by meaning (local-rag)
and by words (lexical), fused by rank, as in persona_composite.json. Members are found by entry-point name; a third one
is the example backend in spelling_memory.py. Without an embeddings model a stand-in embeds (demo_embedder.py).
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import urllib.request
from pathlib import Path

import demo_embedder
import spelling_memory

HERE = Path(__file__).parent
SESSION = "kitchen"
CHAT = "ovos-chat-openai-plugin"
NO_CHAT = "ovos-solver-failure-plugin"

TOLD = [
    ("Jansen will look at my knee on the ninth of June.", "The ninth of June, noted."),
    ("The spare key hangs behind the bicycle shed.", "Good to know."),
    ("My parcel is in locker POL-358 at the station.", "POL-358, noted."),
    ("I must not eat walnuts, they make my throat swell.", "I will keep walnuts away from you."),
    ("Rex the labrador sees the vet on Friday at half past four.", "Friday, half past four, for Rex."),
    ("Mr Achterberg fixed the boiler, his number is 0151 2233.", "I have Mr Achterberg's number."),
    ("We painted the kitchen in a green called Lichen 19.", "Lichen 19 sounds lovely."),
    ("Johnsen next door has our hedge trimmer.", "I know where it is, then."),
    ("Gran's apple cake takes two hundred grams of butter and no cinnamon.", "No cinnamon, then."),
    ("Paper bins go out every second Tuesday.", "Every second Tuesday."),
    ("I am booked in at the clinic on Thursday at ten.", "Thursday at ten, noted."),
    ("Gran sees her eye doctor in May.", "In May, noted."),
    ("The knee of the drain pipe drips, the knee behind the washer.", "It wants a new seal."),
    ("I left the car on level three, row G.", "Level three, row G."),
]

ASKED = [
    "Which locker is my parcel in?",
    "Who was it that repaired our boiler?",
    "What colour is the kitchen?",
    "When is my hospital appointment, for the knee?",
    "What do we need for the appel cake?",
]


def main() -> int:
    """Run both halves, each in a process of its own."""
    options = read_options()
    if options.part:
        return {"tell": tell, "ask": ask}[options.part](options)
    folder = Path(options.folder or tempfile.mkdtemp(prefix="ovos-memory-demo-"))
    for plugin in (demo_embedder, spelling_memory):
        plugin.register(folder / "plugins")
    paths = [str(HERE), str(folder / "plugins"), os.environ.get("PYTHONPATH", "")]
    environment = {
        "OVOS_DEFAULT_LOG_LEVEL": "ERROR",
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path for path in paths if path),
    }
    try:
        for part in ("tell", "ask"):
            command = [sys.executable, __file__, *sys.argv[1:], "--folder", str(folder), "--part", part]
            subprocess.run(command, env=environment, check=True)
    except subprocess.CalledProcessError as error:
        return error.returncode
    finally:
        if not options.folder:
            shutil.rmtree(folder, ignore_errors=True)
    return 0


def read_options() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--api-url", help="an OpenAI-compatible server, e.g. http://localhost:11434/v1")
    parser.add_argument("--model", help="the model there; without it the first that it lists")
    parser.add_argument(
        "--api-key", default=os.environ.get("OPENAI_API_KEY"), help="where the server wants one"
    )
    parser.add_argument("--folder", help="keep the memory here instead of in a temporary folder")
    parser.add_argument("--part", choices=["tell", "ask"], help=argparse.SUPPRESS)
    return parser.parse_args()


# ---------------------------------------------------------------------- the two halves
def tell(options: argparse.Namespace) -> int:
    """Tell the persona a dozen things."""
    persona, session = make_persona(options)
    title(f"process {os.getpid()}: a persona is told {len(TOLD)} things")
    line(f"  embedded by {demo_embedder.choose()[0]}", DIM)
    for sentence, reply in TOLD:
        answer = reply
        if options.api_url:
            answer = persona.chat(persona.get_messages(sentence, session), session) or reply
        persona.remember(sentence, answer, session)
        say("you", sentence)
        say("persona", answer)
    line(f"\nprocess {os.getpid()} ends.", DIM)
    return 0


def ask(options: argparse.Namespace) -> int:
    """Ask about them, in a process that was told nothing."""
    persona, session = make_persona(options)
    title(f"process {os.getpid()}: the same persona, started anew, is asked")
    for question in ASKED:
        messages = persona.get_messages(question, session)
        line(f"\n  {question}", BOLD)
        show_hits(persona.memory.search(question, session.session_id))
        show_messages(messages)
        if options.api_url:
            answer = persona.chat(messages, session) or "(the server did not answer)"
            persona.remember(question, answer, session)
            say("persona", answer)
    if not options.api_url:
        line("\nNo model took part. To let one answer: --api-url http://localhost:11434/v1", DIM)
    return 0


def make_persona(options: argparse.Namespace):
    """Return a persona whose memories lie in the demo's folder."""
    from ovos_bus_client.session import Session
    from ovos_persona import Persona

    folder = Path(options.folder)
    config = json.loads((HERE / "persona_composite.json").read_text(encoding="utf-8"))
    memory = config[config["memory_module"]]
    memory["members"].append({"module": spelling_memory.PLUGIN, "config": {"db_path": "spelling.db"}})
    for member in memory["members"]:
        member["name"] = (
            member["module"].removeprefix("ovos-memory-plugin-").removeprefix("ovos-memory-example-")
        )
        member["config"]["db_path"] = str(folder / f"{member['name']}.db")
    by_meaning = memory["members"][0]["config"]
    # The demo asks at once what it was told just now, so it waits for the model; a conversation would not.
    by_meaning |= {**demo_embedder.choose()[1], "max_history": 4, "timeout_s": 60}
    memory["member_timeout_s"] = 90
    by_meaning["embeddings_db_config"] = {"path": str(folder / "vectors")}
    memory["max_num_results"] = 3
    if options.api_url:
        model = options.model or served_model(options.api_url, options.api_key)
        config[CHAT].update(api_url=options.api_url, key=options.api_key, model=model)
    else:
        config["handlers"] = [NO_CHAT]
    return Persona(config["name"], config), Session(SESSION)


def served_model(api_url: str, api_key: str | None) -> str | None:
    """Return the first model of a server that is not there for embeddings."""
    request = urllib.request.Request(
        f"{api_url.rstrip('/')}/models", headers={"Authorization": f"Bearer {api_key}"}
    )
    with urllib.request.urlopen(request, timeout=10) as reply:
        names = [entry["id"] for entry in json.load(reply)["data"]]
    return next((name for name in names if "embed" not in name), None)


# ---------------------------------------------------------------------- the screen
BOLD, DIM, CYAN, GREEN, YELLOW, MAGENTA = "1", "2", "36", "32", "33", "35"
COLOURS = {"system": MAGENTA, "developer": MAGENTA, "user": CYAN, "assistant": GREEN, "tool": YELLOW}
WIDTH = min(shutil.get_terminal_size().columns, 100)


def show_hits(hits) -> None:
    """Print what was recalled: the fused rank, and each member's own."""
    line("  recalled", DIM)
    for place, hit in enumerate(hits, start=1):
        ranks = {name: found["rank"] for name, found in hit.metadata["retrievers"].items()}
        told = " · ".join(f"{name} ranks it {rank}" for name, rank in ranks.items())
        if place == 1 and min(ranks.values()) > 1:
            told += " · no member ranks it first"
        block(hit.content, first=f"   {place}. ")
        line(f"      {told}", YELLOW)
    if not hits:
        line("      nothing", DIM)


def show_messages(messages) -> None:
    """Print what the chat engine gets."""
    line("  to the chat engine", DIM)
    for message in messages:
        block(message.content, first=f"   {message.role.value:<9} ", colour=COLOURS[message.role.value])


def title(text: str) -> None:
    """Print a heading."""
    line(f"\n{text}\n{'─' * min(len(text), WIDTH)}", BOLD)


def say(who: str, text: str) -> None:
    """Print a turn."""
    block(text, first=f"  {who:<8} ", colour=CYAN if who == "you" else GREEN)


def block(text: str, *, first: str, colour: str = "") -> None:
    """Print a text of several lines behind a margin that stands in front of the first."""
    margin = " " * len(first)
    for number, part in enumerate(text.splitlines() or [""]):
        lead = first if number == 0 else margin
        rows = textwrap.wrap(part, max(WIDTH - len(margin), 20)) or [""]
        for place, row in enumerate(rows):
            start = lead if place == 0 else margin
            print(f"{paint(start, colour or DIM)}{row}".rstrip())


def line(text: str, style: str = "") -> None:
    """Print one line."""
    print(paint(text, style))


def paint(text: str, style: str) -> str:
    """Return the text in a terminal's colours, where there is a terminal that wants them."""
    wanted = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    return f"\x1b[{style}m{text}\x1b[0m" if style and wanted else text


if __name__ == "__main__":
    sys.exit(main())
