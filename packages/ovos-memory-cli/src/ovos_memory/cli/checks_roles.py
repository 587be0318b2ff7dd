"""What ``doctor`` says about the roles in which a memory hands over what it recalled."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ovos_memory.cli.blocks import Block, advice
from ovos_memory.cli.checks_handlers import SERVED
from ovos_memory.cli.target import Target

if TYPE_CHECKING:
    from ovos_memory.core.management_types import Trouble

_IN_PROCESS = "ovos-chat-gguf-plugin"
_UNSURE = {
    "developer": "the role 'developer', which OpenAI's servers know and llama.cpp's refuse",
    "tool": "a tool call and its result, which models without tools refuse",
}
"""Inject modes whose messages not every server takes."""


def role_findings(target: Target, blocks: list[Block]) -> Iterator[Trouble]:
    """Yield what the engine, or the server behind it, may do to what is recalled."""
    mode = blocks[0].get("inject_mode", "system")
    remedy = 'set inject_mode to "user", or to "system" with "allow_system_prompts": true, unless it works'
    if mode in _UNSURE and SERVED in target.handlers:
        what = f"inject_mode '{mode}' sends {_UNSURE[mode]}; a server that refuses it gives no answer"
        yield advice("roles", blocks[0].where, what, remedy)
    if mode == "tool" and _IN_PROCESS in target.handlers:
        what = f"'{_IN_PROCESS}' passes on the text of tool messages, but not the call that they belong to"
        yield advice("roles", blocks[0].where, what, remedy)
