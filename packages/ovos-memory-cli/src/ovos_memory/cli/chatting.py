"""``chat``: talk with a persona, and see what its memory hands to the engine."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any

import click

from ovos_memory.cli.options import FAILED, memory_option
from ovos_memory.cli.output import Output, cell
from ovos_memory.cli.target import Target


@click.command()
@memory_option
@click.option("-s", "--session", metavar="ID", default="default", show_default=True, help="The conversation.")
@click.option("--show-context", is_flag=True, help="Show the messages that the engine is given.")
@click.option("--say", multiple=True, metavar="TEXT", help="Say this instead of asking; may be repeated.")
@click.option("--lang", default=None, help="Language code for the engine.")
def chat(target: Target, session: str, show_context: bool, say: tuple[str, ...], lang: str | None) -> None:
    """Talk with a persona; an empty line ends it."""
    if target.persona is None:
        raise click.UsageError("chat needs a persona, or a persona file; a plugin alone cannot talk")
    from ovos_plugin_manager.templates.agents import AgentMessage, MessageRole

    out = Output(is_json=False)
    memory = target.open(is_calm=False)
    engine = load_engine(target.persona)
    try:
        for utterance in say or _typed():
            context = memory.build_conversation_context(utterance, session)
            if show_context:
                show_messages(out, context)
            answer = _answer(engine, context, session, lang)
            if not answer:
                click.echo("The engine gave no answer.", err=True)
                sys.exit(FAILED)
            said = [AgentMessage(MessageRole.USER, utterance), AgentMessage(MessageRole.ASSISTANT, answer)]
            if show_context:
                show_messages(out, said[1:])
            else:
                out.line(answer)
            memory.update_history(said, session)
    finally:
        getattr(memory, "close", lambda: None)()


def _answer(engine: Any, context: list[Any], session: str, lang: str | None) -> str:
    """Return what the engine says.

    Raises:
        click.ClickException: It failed.
    """
    try:
        reply = engine.continue_chat(context, session_id=session, lang=lang)
    except Exception as error:  # a plugin may fail in any way, and its words may be the user's
        name = type(engine).__name__
        raise click.ClickException(
            f"the chat engine {name} failed ({type(error).__name__}); is its server there? -v shows its log"
        ) from error
    return (getattr(reply, "content", None) or "").strip()


def _typed() -> Iterator[str]:
    """Yield what is typed, until an empty line or the end of the input."""
    while True:
        try:
            text = click.prompt(">", prompt_suffix=" ", default="", show_default=False, err=True)
        except click.Abort:
            return
        if not text.strip():
            return
        yield text


def load_engine(persona: Mapping[str, Any]) -> Any:
    """Return the first of the persona's handlers that is a chat engine.

    Raises:
        click.ClickException: None of them is.
    """
    from ovos_plugin_manager.agents import load_chat_plugin

    handlers = persona.get("handlers") or persona.get("solvers") or []
    for name in handlers:
        found = load_chat_plugin(name)
        if found is not None:
            return found(config=dict(persona.get(name) or {}))
    named = ", ".join(map(str, handlers)) or "none"
    raise click.ClickException(f"no chat engine of the persona is installed (handlers: {named})")


def show_messages(out: Output, messages: list[Any]) -> None:
    """Print messages with their roles."""
    for message in messages:
        role = getattr(message.role, "value", message.role)
        out.line(f"[{role}]", style="bold cyan")
        for line in (message.content or "").splitlines():  # indented: no text can pass for a role
            out.line(f"  {line}")
        for call in message.tool_calls or ():
            out.line(f"  calls {cell(call.name)} {cell(call.arguments)}", style="cyan")
    out.line("─" * 20, style="dim")
