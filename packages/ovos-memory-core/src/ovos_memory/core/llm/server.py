"""The client of any OpenAI-compatible chat server."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ovos_memory.core.errors import BadReply, ModelUnavailable
from ovos_memory.core.llm.breaker import PAUSES_S, Breaker
from ovos_memory.core.llm.deadline import Deadline
from ovos_memory.core.llm.http import Answer, Http, server_label
from ovos_memory.core.llm.reply import Reply, ServerFailed, TokenBudget
from ovos_memory.core.text import clean

FORMS = ("json_schema", "json_object", "none")
"""Ways to ask for JSON, in this order: OpenAI's; llama-cpp-python's server's; in words alone."""

_REJECTS_FORM = frozenset({400, 404, 405, 406, 415, 422, 500, 501})
_REJECTS_REQUEST = frozenset({400, 413, 422})
_NOT_FOR_CHAT = re.compile(
    r"embed|rerank|minilm|(?:^|[/_-])(?:bge|gte|e5|labse|mpnet|jina-(?:v|clip)|clip|whisper|tts|sdxl|flux|dall-e)(?:[-_.]|$)"
    r"|moderation|transcri",
    re.IGNORECASE,
)
_REMEDIES = {
    401: "; set 'api_key'",
    403: "; set 'api_key'",
    404: "; check 'api_url' (it usually ends in /v1) and 'model'",
}


class ServerChat:
    """Asks a server one question at a time; safe from any thread.

    Args:
        api_url: Base address, the part in front of ``/chat/completions``.
        api_key: Bearer token; never logged.
        model: The model's id; ``""``: the first of ``/models`` that is no embedding model.
        options: Further members of the request body, as the server knows them (``temperature``, ``top_p`` …).
        pauses_s: See :class:`~ovos_memory.core.llm.breaker.Breaker`.
    """

    def __init__(
        self,
        api_url: str,
        *,
        api_key: str = "",
        model: str = "",
        options: Mapping[str, Any] | None = None,
        pauses_s: Sequence[float] = PAUSES_S,
    ) -> None:
        self.label = server_label(api_url)
        self.breaker = Breaker(self.label, pauses_s=pauses_s)
        self._api_url = api_url.rstrip("/")
        self._http = Http(api_url, api_key)
        self._configured_model = model.strip()
        self._model = self._configured_model
        self._options = dict(options or {})
        self._form: str | None = None
        self._budget = TokenBudget()

    def ready_in_s(self) -> float:
        """Return the seconds until a question may be asked; 0: now."""
        return self.breaker.ready_in_s()

    def health(self) -> dict[str, Any]:
        """Return how the server is doing."""
        return {
            "server": self.label,
            "model": self._model or None,
            "form": self._form,
            **self.breaker.health(),
        }

    def ask(
        self,
        prompt: str,
        *,
        max_tokens: int,
        timeout_s: float,
        schema: Mapping[str, Any] | None = None,
        temperature: float = 0.0,
    ) -> Reply:
        """Ask one question and return the answer.

        The question goes out as a single user message: some models refuse a system message, some servers the
        developer role, all take this.

        Args:
            prompt: The whole question.
            max_tokens: Length of the answer; more is allowed to a model that was seen to think first.
            timeout_s: Seconds for all of it: finding the model, trying the forms of JSON output, the answer.
            schema: JSON Schema that the answer should follow, where the server can be made to.
            temperature: 0 for the most likely answer.

        Raises:
            ModelUnavailable: No usable answer in time, or the pause after earlier failures is not over.
            ServerFailed: The server answered with a failure of its own.
            BadReply: The server refuses this question (too long, for instance).
        """
        deadline = Deadline(timeout_s)
        with self.breaker.turn(deadline):
            body: dict[str, Any] = {
                "messages": [{"role": "user", "content": prompt}],
                "max_tokens": self._budget.tokens(max_tokens),
                "temperature": temperature,
                "stream": False,
                **self._options,
            }
            model = self._model or self._detect_model(deadline)
            if model:
                body["model"] = model
            reply = self._complete(body, schema, deadline)
            self.breaker.succeeded()
            return self._budget.noted(reply)

    def _complete(self, body: dict[str, Any], schema: Mapping[str, Any] | None, deadline: Deadline) -> Reply:
        forms = self._forms_to_try() if schema is not None else ("none",)
        for form in forms:
            answer = self._send(
                "POST", "/chat/completions", deadline, body={**body, **_form_members(form, schema)}
            )
            if answer.status in _REJECTS_FORM and form != forms[-1]:
                self._form = None
                self.breaker.failed()
                continue
            self._raise_for_status(answer)
            try:
                reply = read_completion(answer)
            except ModelUnavailable:
                self.breaker.failed()
                raise
            if schema is not None and len(forms) > 1:
                self._form = form
            return reply
        raise AssertionError("unreachable: the last form returns or raises")

    def _forms_to_try(self) -> tuple[str, ...]:
        """Return the forms to try: from the one that worked last; in trouble only one."""
        if self.breaker.is_open:
            return (self._form or "none",)
        return FORMS[FORMS.index(self._form or FORMS[0]) :]

    def _detect_model(self, deadline: Deadline) -> str:
        answer = self._send("GET", "/models", deadline)
        self._raise_for_status(answer)
        found = self._model = first_chat_model(answer.body)
        if not found:
            self.breaker.failed()
            raise ModelUnavailable(f"{self.label}: /models names no chat model; set 'model'")
        return found  # another question that fails may make the server be asked for it again

    def _send(
        self, method: str, path: str, deadline: Deadline, *, body: Mapping[str, Any] | None = None
    ) -> Answer:
        try:
            return self._http.send(method, self._api_url + path, deadline, body=body)
        except ModelUnavailable:
            self.breaker.failed()
            raise

    def _raise_for_status(self, answer: Answer) -> None:
        if answer.status < 300:
            return
        self.breaker.failed(at_least_s=answer.retry_after_s)
        remedy = _REMEDIES.get(answer.status, "")
        if answer.status < 400:
            raise ModelUnavailable(
                f"{self.label}: redirects elsewhere (HTTP {answer.status}); set 'api_url' to where it leads"
            )
        if answer.status in (401, 403, 404):
            self._model = self._configured_model
            raise ModelUnavailable(f"{self.label}: HTTP {answer.status}{remedy}")
        if answer.status in _REJECTS_REQUEST:
            raise BadReply(f"{self.label}: refuses the question (HTTP {answer.status})")
        raise ServerFailed(f"{self.label}: HTTP {answer.status}")


def first_chat_model(body: bytes) -> str:
    """Return the first model of a ``/models`` answer that can chat; ``""`` when there is none, or no list."""
    try:
        listed = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    entries = listed.get("data") if isinstance(listed, dict) else None
    for entry in entries if isinstance(entries, list) else ():
        if not isinstance(entry, dict) or not isinstance(entry.get("id"), str):
            continue
        kind = f"{entry.get('type', '')} {entry.get('task', '')}"
        if entry["id"] and not _NOT_FOR_CHAT.search(entry["id"]) and not _NOT_FOR_CHAT.search(kind):
            return str(entry["id"])
    return ""


def read_completion(answer: Answer) -> Reply:
    """Return what a chat completion says, a whole one or an event stream nobody asked for.

    Raises:
        ModelUnavailable: It is no completion: a web page, an error object, something else.
    """
    text = answer.body.decode("utf-8", "replace")
    if answer.media_type == "text/event-stream" or text.lstrip().startswith(("data:", "event:", ":")):
        return _read_events(text.splitlines())
    try:
        completion = json.loads(text)
    except (ValueError, RecursionError):
        kind = (
            answer.media_type if re.fullmatch(r"[\w.+-]+/[\w.+-]+", answer.media_type) else "an unknown type"
        )
        raise ModelUnavailable(f"the answer is no JSON but {kind}; check 'api_url'") from None
    choice = _first_choice(completion)
    if choice is None:
        raise ModelUnavailable("the answer holds an error or no choices instead of a completion")
    message = choice.get("message")
    content = message.get("content") if isinstance(message, dict) else choice.get("text")
    thought = isinstance(message, dict) and bool(message.get("reasoning_content") or message.get("reasoning"))
    return Reply.read(content, is_cut=choice.get("finish_reason") == "length", thought=thought)


def _read_events(lines: Iterable[str]) -> Reply:
    parts: list[str] = []
    is_cut = seen = thought = False
    for line in lines:
        if not line.startswith("data:"):
            continue
        try:
            choice = _first_choice(json.loads(line[5:]))
        except (ValueError, RecursionError):
            continue
        if choice is None:
            continue
        seen = True
        delta = choice.get("delta") or choice.get("message") or {}
        if isinstance(delta, dict):
            parts.append(clean(delta.get("content")))
            thought = thought or bool(delta.get("reasoning_content") or delta.get("reasoning"))
        is_cut = is_cut or choice.get("finish_reason") == "length"
    if not seen:
        raise ModelUnavailable("the event stream holds no completion")
    return Reply.read("".join(parts), is_cut=is_cut, thought=thought)


def _first_choice(completion: Any) -> dict[str, Any] | None:
    choices = completion.get("choices") if isinstance(completion, dict) else None
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        return None
    return choices[0]


def _form_members(form: str, schema: Mapping[str, Any] | None) -> dict[str, Any]:
    if schema is None or form == "none":
        return {}
    if form == "json_object":
        return {"response_format": {"type": "json_object", "schema": dict(schema)}}
    named = {"name": "reply", "strict": True, "schema": dict(schema)}
    return {"response_format": {"type": "json_schema", "json_schema": named}}
