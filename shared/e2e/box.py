"""An assistant's box: ovos-core with the persona pipeline, on a message bus process or on a FakeBus."""

from __future__ import annotations

import contextlib
import sys
import threading
from typing import Any

from home import Home
from processes import listens, running, wait_until

CORE = [
    "-m",
    "ovos_core",
    "--disable-file-watcher",
    "--disable-skill-api",
    "--disable-installer",
    "--disable-event-scheduler",
]
SPEAK = ("speak", "ovos.utterance.speak")


class Box:
    """What both kinds share: say something in a session, and see what is spoken there."""

    bus: Any

    def __init__(self, home: Home) -> None:
        self.home = home
        self.changed = threading.Condition()
        self.spoken: dict[str, list[str]] = {}
        self.uttered: dict[str, int] = {}
        self.handled: dict[str, int] = {}

    def say(self, text: str, session: str, timeout_s: float = 60) -> list[str]:
        """Say something and return the sentences of the answer."""
        before, done = len(self.spoken.get(session, [])), self.handled.get(session, 0)
        self.utter(text, session)
        with self.changed:
            finished = self.changed.wait_for(lambda: self.handled.get(session, 0) > done, timeout_s)
            assert finished, f"no answer in session {session} within {timeout_s:g} s"
            return self.spoken.get(session, [])[before:]

    def utter(self, text: str, session: str) -> None:
        """Say something and wait for nothing."""
        from ovos_bus_client.message import Message

        self.uttered[session] = self.uttered.get(session, 0) + 1
        context = {"session": {"session_id": session}}
        data = {"utterances": [text], "lang": "en-US"}
        # A FakeBus comes back only when all handlers are done.
        message = Message("recognizer_loop:utterance", data, context)
        threading.Thread(target=self.bus.emit, args=(message,), daemon=True).start()

    def wait_spoken(self, sentence: str, session: str) -> None:
        """Return when a sentence has been spoken in a session."""
        with self.changed:
            assert self.changed.wait_for(lambda: sentence in self.spoken.get(session, []), 30), sentence

    def wait_handled(self, session: str) -> None:
        """Return when everything said in a session has been dealt with."""
        with self.changed:
            done = self.changed.wait_for(lambda: self.handled.get(session, 0) >= self.uttered[session], 30)
            assert done, f"session {session}: {self.handled} of {self.uttered}"

    def listen(self) -> None:
        """Note what is spoken and what is done."""
        for topic in SPEAK:
            self.bus.on(topic, self.note_spoken)
        self.bus.on("ovos.utterance.handled", self.note_handled)

    def note_spoken(self, message: Any) -> None:
        session = message.context["session"]["session_id"]
        with self.changed:
            said = self.spoken.setdefault(session, [])
            # What is spoken on one topic is mirrored on the other.
            if message.data["utterance"] not in said[-1:]:
                said.append(message.data["utterance"])
            self.changed.notify_all()

    def note_handled(self, message: Any) -> None:
        session = message.context["session"]["session_id"]
        with self.changed:
            self.handled[session] = self.handled.get(session, 0) + 1
            self.changed.notify_all()

    def restart(self) -> None:
        """End the assistant and start it anew on the same folders."""
        self.stop()
        self.start()

    def start(self) -> None:
        raise NotImplementedError

    def stop(self) -> None:
        raise NotImplementedError


class BusBox(Box):
    """ovos-messagebus and ovos-core as processes; the test is a client of the bus."""

    def start(self) -> None:
        from ovos_bus_client import Message, MessageBusClient

        port, env, logs = self.home.bus_port, self.home.environment(), self.home.folder
        self.processes = contextlib.ExitStack()
        bus = [sys.executable, "-m", "ovos_messagebus"]
        self.processes.enter_context(running(bus, env, logs / "messagebus.out", lambda: listens(port)))
        self.bus = MessageBusClient(host="127.0.0.1", port=port, route="/core", ssl=False)
        self.bus.run_in_thread()
        assert self.bus.connected_event.wait(30)
        self.listen()

        def ready() -> bool:
            reply = self.bus.wait_for_response(Message("mycroft.skills.is_ready"), timeout=1)
            return bool(reply and reply.data.get("status"))

        self.processes.enter_context(running([sys.executable, *CORE], env, logs / "core.out", ready))

    def stop(self) -> None:
        self.processes.close()
        self.bus.close()


class FakeBusBox(Box):
    """ovos-core's intent service and its pipeline in this process, on a FakeBus."""

    def start(self) -> None:
        from ovos_bus_client.session import SessionManager
        from ovos_core.intent_services import IntentService
        from ovos_utils.fakebus import FakeBus

        SessionManager.sessions.clear()
        self.bus = FakeBus()
        self.listen()
        self.service = IntentService(self.bus)
        wait_until(lambda: self.service.get_pipeline() != [], "the pipeline is loaded")

    def stop(self) -> None:
        self.service.shutdown()
