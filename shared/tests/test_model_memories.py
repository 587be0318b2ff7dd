"""What holds for every memory that a language model works for: no exchange is lost, none is done twice."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

from ovos_memory.entity import EntityMemory
from ovos_memory.longterm import LongTermMemory
from ovos_memory.testing.fakes.server import FakeServer
from ovos_memory.testing.messages import assistant, user

SUMMARY = "The user told whom they had met at school."
KINDS = {EntityMemory: {"scope": "session", "max_facts": 0}, LongTermMemory: {"summarize_every": 1}}
each_memory = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
each_store = pytest.mark.parametrize("suffix", ["json", "db"])


def pair(name):
    return [user(f"I met {name} at school"), assistant("ok")]


def name_of(number):
    """Return a name of letters only: digits would make facts alike."""
    return "Z" + "".join("abcdefghij"[int(digit)] for digit in str(number)) + "x"


def met_in(prompt):
    return re.findall(r"I met (\w+) at school", prompt)


def answer(payload):
    """Give the summary, or the facts, that a prompt asks for."""
    prompt = payload["messages"][0]["content"]
    if "summary" in prompt.lower():
        return SUMMARY
    return json.dumps([f"Met {name} at school" for name in met_in(prompt)])


@pytest.fixture
def server():
    with FakeServer([answer]) as running:
        yield running


def new(kind, path, url, **config):
    return kind({"db_path": str(path), "api_url": url, "model": "m", **KINDS[kind], **config})


def done(server):
    """Return whom the model was told of, in good answers, sorted."""
    return sorted(name for prompt in server.prompts for name in met_in(prompt))


SPEAKER = """
    import sys, time
    from ovos_memory.entity import EntityMemory
    from ovos_memory.longterm import LongTermMemory
    from ovos_memory.testing.messages import assistant, user
    memory = {kind}({config!r})
    for session, name in {said!r}:
        memory.update_history([user("I met " + name + " at school"), assistant("ok")], session)
    print("said", flush=True)
    {then}
"""


def speaker(kind, config, said, then):
    code = textwrap.dedent(SPEAKER).format(kind=kind.__name__, config=config, said=said, then=then)
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)


@each_memory
@each_store
def test_after_a_kill_the_work_resumes_and_nothing_is_missing(kind, suffix, server, tmp_path):
    names = [name_of(number) for number in range(30)]
    server.mode = "no_answer"
    config = {"db_path": str(tmp_path / f"m.{suffix}"), "api_url": server.url, "model": "m", **KINDS[kind]}
    child = speaker(kind, {**config, "request_timeout": 2}, [("s", name) for name in names], "time.sleep(60)")
    assert "said\n" in iter(child.stdout.readline, "")  # an old OPM prints warnings before
    os.kill(child.pid, signal.SIGKILL)
    child.wait(10)
    server.mode = "good"
    server.requests.clear()

    memory = new(kind, tmp_path / f"m.{suffix}", server.url, request_timeout=2)

    assert memory.workplace.worker.drain(60)
    assert done(server) == sorted(names)
    if kind is EntityMemory:
        assert sorted(fact.text for fact in memory.facts("s")) == sorted(f"Met {n} at school" for n in names)
    memory.close()


@each_memory
def test_closing_gives_the_work_its_time(kind, server, tmp_path):
    memory = new(kind, tmp_path / "m.json", server.url)
    memory.update_history(pair("Zoe"), "s")

    memory.close()

    assert done(server) == ["Zoe"]


@each_memory
def test_closing_takes_five_seconds_at_most(kind, server, tmp_path):
    server.mode = "no_answer"
    memory = new(kind, tmp_path / "m.json", server.url, request_timeout=60)
    memory.update_history(pair("Zoe"), "s")
    started = time.monotonic()

    memory.close()

    assert time.monotonic() - started < 6
    assert memory.health()["work"]["pending"] == 1


@each_memory
@each_store
def test_two_processes_on_one_store_lose_nothing_and_do_nothing_twice(kind, suffix, server, tmp_path):
    config = {"db_path": str(tmp_path / f"m.{suffix}"), "api_url": server.url, "model": "m", **KINDS[kind]}
    reader = new(kind, tmp_path / f"m.{suffix}", server.url)
    reader.build_conversation_context("hello", "both")  # what it has seen is stale from now on
    said = {
        who: [(f"{who}{n}", name_of(100 * who + n)) for n in range(40)]
        + [("both", name_of(100 * who + 50 + n)) for n in range(10)]
        for who in (1, 2)
    }
    then = "assert memory.workplace.worker.drain(60); memory.close()"
    children = [speaker(kind, config, said[who], then) for who in said]
    assert [child.wait(100) for child in children] == [0, 0]

    names = sorted(name for each in said.values() for _, name in each)
    assert done(server) == names
    if kind is EntityMemory:
        known = [fact.text for session, _ in said[1] + said[2] for fact in reader.facts(session)]
        assert set(known) == {f"Met {name} at school" for name in names}
        assert len(reader.facts("both")) == 20
    else:
        assert {reader.summary(session) for session, _ in said[1] + said[2]} == {SUMMARY}
    reader.update_history(pair("Zoe"), "both")
    assert reader.workplace.worker.drain(30)
    if kind is EntityMemory:
        assert len(reader.facts("both")) == 21
    reader.close()


@each_memory
@each_store
def test_sixteen_threads_have_every_exchange_done_once(kind, suffix, server, tmp_path):
    memory = new(kind, tmp_path / f"m.{suffix}", server.url)
    failed = []

    def speak(thread):
        try:
            for number in range(10):
                asked, answered = pair(name_of(100 * thread + number))
                memory.update_history([asked], f"s{thread}")
                memory.build_conversation_context("whom did I meet?", f"s{thread}")
                memory.update_history([answered], f"s{thread}")
        except Exception as error:  # a thread's exception would be lost
            failed.append(error)

    threads = [threading.Thread(target=speak, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failed == []
    assert memory.workplace.worker.drain(120)
    assert done(server) == sorted(name_of(100 * thread + n) for thread in range(16) for n in range(10))
    memory.close()


def test_eight_threads_on_one_session_are_all_in_the_window(server, tmp_path):
    memory = new(LongTermMemory, tmp_path / "m.db", server.url, summarize_every=1_000)

    def speak(thread):
        for number in range(50):
            memory.update_history(pair(name_of(100 * thread + number)), "s")

    threads = [threading.Thread(target=speak, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    history = memory.get_history("s")
    assert [m.role.value for m in history] == ["user", "assistant"] * 400
    assert len({m.content for m in history}) == 401
    memory.close()


BAD = ["no_answer", "drip", "500", "html", "error_object", "redirect_loop", "closed_port", "unknown_host"]


@pytest.mark.slow
@each_memory
@pytest.mark.parametrize("mode", BAD)
def test_thirty_turns_on_a_bad_endpoint_are_quick_few_requests_and_kept(kind, mode, server, tmp_path):
    urls = {"closed_port": "http://127.0.0.1:9/v1", "unknown_host": "http://nowhere.invalid/v1"}
    if mode not in urls:
        server.mode = mode
    path = tmp_path / "m.json"
    memory = new(kind, path, urls.get(mode, server.url), request_timeout=1)
    slowest = 0.0
    for number in range(30):
        started = time.perf_counter()
        memory.update_history(pair(name_of(number)), "s")
        context = memory.build_conversation_context("hello", "s")
        slowest = max(slowest, time.perf_counter() - started)
        assert sum(len(message.content) for message in context) < 25_000
    time.sleep(1.5)
    started = time.perf_counter()
    memory.close()

    assert slowest < 0.9 and time.perf_counter() - started < 6
    assert len(server.requests) <= 6
    server.mode = "good"
    server.requests.clear()
    again = new(
        kind, path, server.url, request_options={"seed": 1}
    )  # a client of its own, which does not pause
    assert again.workplace.worker.drain(60)
    assert done(server) == sorted(name_of(number) for number in range(30))
    again.close()


@each_memory
def test_neither_the_key_nor_words_are_logged(kind, server, tmp_path, capfd):
    memory = new(kind, tmp_path / "m.json", server.url, api_key="k3y-s3cret", request_timeout=0.3)
    for mode in ("500", "html", "error_object", "no_answer", "null_content", "prose", "good"):
        server.mode = mode
        memory.update_history([user("my PIN is fourtytwo"), assistant("noted, fourtytwo")], "secret-session")
        memory.workplace.chat.breaker.succeeded()
        memory.workplace.worker.drain(0.6)
    memory.close()

    told = "".join(capfd.readouterr()) + repr(memory.health())
    assert server.requests[-1].headers["authorization"] == "Bearer k3y-s3cret"
    assert not any(secret in told for secret in ("k3y-s3cret", "fourtytwo", "secret-session"))
