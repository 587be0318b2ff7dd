"""The daemon threads behind calls to members."""

import gc
import subprocess
import sys
import threading
import weakref

from ovos_memory.composite.pool import DaemonPool


def run_and_wait(pool, count=1):
    done = [threading.Event() for _ in range(count)]
    threads = []

    def task(event):
        threads.append(threading.current_thread())
        event.set()

    for event in done:
        pool.submit(lambda event=event: task(event))
    for event in done:
        assert event.wait(5)
    return threads


def wait_until_idle(pool, threads=1):
    while True:
        with pool._lock:
            if pool._unclaimed >= threads:
                return


def test_an_idle_thread_is_reused():
    pool = DaemonPool()

    first = run_and_wait(pool)
    wait_until_idle(pool)
    second = run_and_wait(pool)

    assert first == second


def test_tasks_run_side_by_side():
    pool = DaemonPool()
    meeting = threading.Barrier(9, timeout=5)

    for _ in range(8):
        pool.submit(meeting.wait)

    meeting.wait()  # breaks unless all eight run at once


def test_threads_are_daemons_and_end_after_idling():
    pool = DaemonPool(idle_s=0.01)

    [thread] = run_and_wait(pool)

    assert thread.daemon
    thread.join(5)
    assert not thread.is_alive()
    run_and_wait(pool)  # and the pool goes on


def test_an_idle_thread_keeps_nothing_alive():
    class Memory:
        def work(self):
            pass

    pool = DaemonPool()
    memory = Memory()
    collected = weakref.ref(memory)
    pool.submit(memory.work)
    wait_until_idle(pool)

    del memory
    gc.collect()

    assert collected() is None


def test_no_task_is_lost_when_threads_end_and_begin():
    pool = DaemonPool(idle_s=0.0001)
    done = threading.Semaphore(0)

    for _ in range(2_000):
        pool.submit(done.release)

    for _ in range(2_000):
        assert done.acquire(timeout=5)


def test_a_task_that_never_ends_does_not_delay_the_exit():
    program = (
        "import threading\n"
        "from ovos_memory.composite.pool import POOL\n"
        "begun = threading.Event()\n"
        "POOL.submit(lambda: (begun.set(), threading.Event().wait()))\n"
        "begun.wait()\n"
    )

    assert subprocess.run([sys.executable, "-c", program], timeout=30, check=False).returncode == 0


def test_a_forked_child_has_threads_of_its_own():
    program = (
        "import os, threading\n"
        "from ovos_memory.composite.pool import POOL\n"
        "def run():\n"
        "    done = threading.Event()\n"
        "    POOL.submit(done.set)\n"
        "    return done.wait(10)\n"
        "assert run()\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    os._exit(0 if run() else 1)\n"
        "assert os.waitpid(child, 0)[1] == 0\n"
    )

    assert subprocess.run([sys.executable, "-c", program], timeout=60, check=False).returncode == 0
