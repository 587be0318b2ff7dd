"""Real parts of OVOS around our memories: folders of their own, models, and the processes of one box."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest
from box import BusBox, FakeBusBox
from home import Home, register_plugins
from processes import free_port, model_server

HERE = Path(__file__).parent
OWN_HOME = pytest.StashKey[Home]()
"""The user of this process: OVOS reads its configuration once."""


def pytest_configure(config):
    """Give this process, and those that it starts, an OVOS of their own before anything of OVOS is imported."""
    base = Path(tempfile.mkdtemp(prefix="ovos-memory-e2e-"))
    config.add_cleanup(lambda: shutil.rmtree(base, ignore_errors=True))
    register_plugins(base / "plugins")
    paths = [str(HERE), str(base / "plugins")]
    os.environ["PYTHONPATH"] = os.pathsep.join([*paths, *filter(None, [os.environ.get("PYTHONPATH")])])
    sys.path[:0] = [path for path in paths if path not in sys.path]
    config.stash[OWN_HOME] = Home(base / "home")
    config.stash[OWN_HOME].configure(default_persona="Default")
    os.environ.update(config.stash[OWN_HOME].variables())
    os.environ.setdefault("OVOS_DEFAULT_LOG_LEVEL", "WARNING")


@pytest.fixture(scope="session")
def models():
    """The folder of the test models."""
    folder = Path(os.environ["OVOS_MEMORY_TEST_MODELS"])
    assert (folder / "smollm2-135m-instruct.gguf").is_file(), "nox -s e2e makes the models"
    return folder


@pytest.fixture(scope="session")
def api_url(models, tmp_path_factory):
    """An OpenAI-compatible server on a real model."""
    with model_server(
        models / "smollm2-135m-instruct.gguf", tmp_path_factory.mktemp("model") / "server.log"
    ) as url:
        yield url


@pytest.fixture(scope="module", params=[BusBox, FakeBusBox], ids=["messagebus", "fakebus"])
def kind(request):
    """Both ways to run ovos-core: over a message bus process, and in one process on a FakeBus."""
    return request.param


@pytest.fixture(scope="module")
def home(kind, request, tmp_path_factory):
    """The folders of the box's user."""
    if kind is FakeBusBox:
        return request.config.stash[OWN_HOME]
    return Home(tmp_path_factory.mktemp("home"), bus_port=free_port())
