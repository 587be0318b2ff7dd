"""Every check: `python3 noxfile.py -s tests`, or `nox -s tests` where nox is installed; `-l` lists them.

Run as a script it needs nothing but Python >= 3.10 and a package index: nox and uv are put into `.cache/`.
"""

from __future__ import annotations

import json
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
    """Ruff, spelling, workflows, equal package files, declared imports, nothing of this machine in the tree."""
    sync(session, "lint", packages=False)
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("codespell")
    session.run("jactionlint", "--strict-exit", "--no-hints")
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
def together(session: nox.Session) -> None:
    """All wheels in one environment, where every memory plugin passes its self-check; or `-- PLUGIN…`."""
    sync(session, "wheels", packages=False)
    built = build_wheels(session)
    fresh = Path(session.create_tmp()) / "together"
    uv(session, "venv", "--quiet", "--clear", "--python", sys.executable, str(fresh))
    python = str(fresh / ("Scripts" if os.name == "nt" else "bin") / "python")
    wheels = sorted(map(str, built.glob("*.whl")))
    uv(session, "pip", "install", "--quiet", "--no-sources", f"--python={python}", *wheels)
    check = [str(TOOLS / "check_installed.py"), *session.posargs]
    session.run(python, *check, external=True, env=own_folders(session))


@nox.session
def evil(session: nox.Session) -> None:
    """Every rule's evil twin fails, at its rule and no other: a check that nobody breaks proves nothing."""
    sync(session, "tests")
    twins = sorted(map(str, (ROOT / "packages" / "ovos-memory-testing" / "tests").glob("test_*twins.py")))
    chosen = ["-m", "not models", "--timeout=900", *(session.posargs or SIDE_BY_SIDE)]
    session.run("pytest", *twins, *chosen, env=own_folders(session))


@nox.session
def docs(session: nox.Session) -> None:
    """The documentation, as a site in `.cache/site`; a broken link or reference is an error."""
    sync(session, "docs")
    env = {"NO_MKDOCS_2_WARNING": "1", "PYTHONWARNINGS": "ignore::DeprecationWarning"}
    session.run("mkdocs", "build", "--strict", "--config-file=shared/mkdocs.yml", *session.posargs, env=env)


@nox.session
def tox(session: nox.Session) -> None:
    """Each package alone; core and what the last commit edited as wheels; or `-- -e py312-core-lowest,…`."""
    sync(session, "tox", packages=False)
    program = bootstrap.tool("uv")
    chosen = session.posargs or ["-e", ",".join(tox_environments(session))]
    path = os.pathsep.join([str(program.parent), os.environ.get("PATH", ""), *other_pythons()])
    env = {**bootstrap.tool_environment(), "PATH": path}
    run = ["run-parallel", "--parallel=auto", "--parallel-no-spinner"]
    session.run("tox", *run, f"--workdir={WORK / '.tox'}", *chosen, env=env)


def tox_environments(session: nox.Session) -> list[str]:
    """Return core's and the edited packages' wheels on the newest and the oldest Python; the others as locked."""
    here = sys.version_info[1]
    found = {int(match[1]) for path in other_pythons() if (match := re.search(r"/3\.(\d+)\.\d+/bin$", path))}
    minors = sorted(minor for minor in {here, *found} if 10 <= minor <= 13)
    printed = str(session.run("python", str(TOOLS / "changed.py"), "HEAD^1", silent=True))
    edited = {"core", *json.loads(re.findall(r"^edited=(.*)$", printed, re.MULTILINE)[0])}
    names = [
        re.sub(r"^ovos-memory-(plugin-)?", "", package.name)
        for package in PACKAGES
        if (package / "src").is_dir()
    ]
    wheels = [f"py3{minors[-1]}-{name}-dist" for name in names if name in edited]
    wheels += [f"py3{minors[0]}-{name}-lowest" for name in names if name in edited]
    return wheels + [f"py3{here}-{name}" for name in names if name not in edited]


@nox.session
def slow(session: nox.Session) -> None:
    """The tests that `tests` leaves out: they build, install or measure for long."""
    sync(session, "tests")
    built = {"UV": str(bootstrap.tool("uv")), **bootstrap.tool_environment(), **own_folders(session)}
    chosen = ["-m", "slow", "--ignore-glob=*/test_*twins.py", "--timeout=900"]  # twins: session `evil`
    session.run("pytest", *chosen, *(session.posargs or SIDE_BY_SIDE), env=built)


@nox.session
def models(session: nox.Session) -> None:
    """The tests on a real model, chromadb and Qdrant; llama.cpp is built once, which takes minutes."""
    env = with_models(session, "models")
    session.run("pytest", "-m", "models", "--timeout=600", *session.posargs, env=env)


@nox.session
def quality(session: nox.Session) -> None:
    """Recall on recorded conversations: `-- --data FILE [--stored RESULT.json] [--out RESULT.json]`."""
    env = with_models(session, "models")
    model = f"--model={env['OVOS_MEMORY_TEST_MODELS']}/all-minilm-l6-v2.gguf"
    session.run("python", "shared/bench/quality.py", model, *session.posargs, env=env)


@nox.session
def e2e(session: nox.Session) -> None:
    """Real assistants, servers and models around the memories; the newest OVOS, and the oldest that works."""
    env = with_models(session, "e2e") | {"OVOS_MEMORY_TEST_DIST": str(build_wheels(session))}
    run = ["pytest", "shared/e2e", "--timeout=900"]
    if session.posargs:
        session.run(*run, *session.posargs, env=env)
        return
    session.run(*run, "-m", "not slow", *SIDE_BY_SIDE, env=env)
    session.run(*run, "-m", "slow", env=env)
    python = oldest_ovos(session, Path(env["OVOS_MEMORY_TEST_DIST"]))
    # Of two utterances at once, that ovos-core now and then forgets one: its intent parser forks among threads.
    chosen = ["shared/e2e/test_persona_service.py", "-k", "messagebus and not parallel", "--timeout=300"]
    session.run(python, "-m", "pytest", *chosen, external=True, env=env)


THEIRS = "ovos-memory-plugins==1.2.3a1"
"""What a user would install instead; measured as it comes from the index."""


@nox.session
def bench(session: nox.Session) -> None:
    """Costs beside the package that a user would pick instead; `-- --quick`, `-- --only NAME`, `-- --data LOCOMO.json`."""
    env = with_models(session, "models")
    theirs = Path(session.create_tmp()) / "theirs"
    uv(session, "venv", "--clear", f"--python={sys.executable}", str(theirs))
    python = theirs / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    uv(session, "pip", "install", f"--python={python}", "--prerelease=allow", THEIRS)
    model = Path(env["OVOS_MEMORY_TEST_MODELS"]) / "all-minilm-l6-v2.gguf"
    parts = ["--theirs", str(python), "--model", str(model), "--out", str(bootstrap.cache_home() / "bench")]
    session.run("python", "shared/bench/bench.py", *parts, *session.posargs, env=env)


ONE_HEAP = {"MALLOC_ARENA_MAX": "1"}
"""glibc keeps a heap per thread, whose holes look like a leak to who measures the process."""


@nox.session
def faults(session: nox.Session) -> None:
    """Kills, full disks, locks, damage, odd input, load; `-- --seed random`, `-- --write` fills the page's table."""
    sync(session, "tests")
    chosen = ["-m", "faults", "--timeout=300", SIDE_BY_SIDE[0], *session.posargs]
    session.run("pytest", "shared/faults", *chosen, env=own_folders(session) | ONE_HEAP)


@nox.session
def soak(session: nox.Session) -> None:
    """Thirty minutes of load: flat memory, flat cost, nothing leaked; `-- --minutes 10` takes less."""
    sync(session, "tests")
    run = ["pytest", "shared/faults", "-m", "soak", "-s"]
    session.run(*run, *session.posargs, env=own_folders(session) | ONE_HEAP)


def oldest_ovos(session: nox.Session, wheels: Path) -> str:
    """Return the interpreter of an environment with the packages' wheels and the oldest OVOS that works."""
    folder = Path(session.create_tmp()) / "oldest"
    uv(session, "venv", "--clear", f"--python={sys.executable}", str(folder))
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    parts = ["--requirements=shared/e2e/oldest.txt", *map(str, sorted(wheels.glob("*.whl")))]
    links = f"--find-links={llama_wheel(session).parent}"
    uv(session, "pip", "install", f"--python={python}", "--no-deps", links, *parts)
    return str(python)


@nox.session
def spread(session: nox.Session) -> None:
    """The contract suites on every Python and OPM of this machine; `-- --corners` is what CI runs."""
    sync(session, "wheels", packages=False)
    env = {"UV": str(bootstrap.tool("uv")), **bootstrap.tool_environment()}
    session.run("python", str(TOOLS / "spread.py"), *session.posargs, env=env)


def with_models(session: nox.Session, group: str) -> dict[str, str]:
    """Add a group with llama.cpp in it and the test models; returns the variables that the tests need."""
    built = llama_wheel(session)
    sync(session, "tests")
    parts = Path(session.create_tmp()) / f"{group}.txt"
    export = ["export", "--quiet", "--locked", "--no-hashes", f"--only-group={group}"]
    uv(session, *export, f"--output-file={parts}")
    into = [f"--python={session.virtualenv.location}", "--no-deps", f"--find-links={built.parent}"]
    uv(session, "pip", "install", *into, f"--requirements={parts}")
    folder = bootstrap.cache_home() / "models"
    wanted = ("all-minilm-l6-v2.gguf", "all-minilm-l6-v2-q8_0.gguf", "smollm2-135m-instruct.gguf")
    bootstrap.attempt(
        lambda: session.run("python", str(TOOLS / "make_test_models.py"), str(folder), "--only", *wanted),
        what="make_test_models.py",
    )
    env = {"UV": str(bootstrap.tool("uv")), **bootstrap.tool_environment(), **own_folders(session)}
    return env | {"OVOS_MEMORY_TEST_MODELS": str(folder), "OVOS_MEMORY_TEST_WHEELS": str(built.parent)}


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


@nox.session
def opm(session: nox.Session) -> None:
    """All tests on another OPM: `-- "==2.7.0a1"`; by default on the newest, pre-releases included."""
    sync(session, "tests")
    bound, *chosen = session.posargs or [""]
    into = f"--python={session.virtualenv.location}"
    wanted = f"ovos-plugin-manager{bound}"
    uv(session, "pip", "install", into, "--prerelease=allow", "--upgrade-package=ovos-plugin-manager", wanted)
    command = ["pytest", "-m", "not slow and not models", "--timeout=300", *(chosen or SIDE_BY_SIDE)]
    session.run(*command, env=own_folders(session))


@nox.session
def sqlite(session: nox.Session) -> None:
    """All tests on another SQLite, built from its source with the C compiler: `-- 3.36.0`."""
    sync(session, "tests")
    version, *chosen = session.posargs or ["3.36.0"]
    printed = session.run("python", str(TOOLS / "build_sqlite.py"), version, silent=True)
    env = {**own_folders(session), "LD_PRELOAD": str(printed).strip().splitlines()[-1]}
    session.run("python", "-c", f"import sqlite3; assert sqlite3.sqlite_version == {version!r}", env=env)
    command = ["pytest", "-m", "not slow and not models", "--timeout=300", *(chosen or SIDE_BY_SIDE)]
    session.run(*command, env=env)


@nox.session
def release(session: nox.Session) -> None:
    """What a tag's release has to pass: `-- <distribution>-v<version>`; sdist and wheel are left in `dist/`."""
    sync(session, "wheels", packages=False)
    if len(session.posargs) != 1:
        session.error("name the tag: nox -s release -- ovos-memory-core-v1.0.0")
    session.run("python", str(TOOLS / "release.py"), *session.posargs)
    env = {"UV": str(bootstrap.tool("uv")), **bootstrap.tool_environment(), **own_folders(session)}
    session.run("python", str(TOOLS / "build_release.py"), *session.posargs, env=env)
    session.run("python", str(TOOLS / "check_wheels.py"), str(ROOT / "dist"))
    session.run("twine", "check", "--strict", *map(str, sorted((ROOT / "dist").glob("ovos_memory*"))))


# Those that take seconds first.
CI = (
    "lint",
    "layers",
    "types",
    "wheels",
    "docs",
    "alone",
    "demo",
    "together",
    "evil",
    "slow",
    "faults",
    "models",
    "e2e",
    "tox",
)


@nox.session(venv_backend="none")
def ci(session: nox.Session) -> None:
    """Everything after `tests`; all of it runs, whatever fails first."""
    for name in CI:
        session.notify(name)
    session.notify("spread", ["--corners"])


@nox.session(venv_backend="none")
def lock(session: nox.Session) -> None:
    """Bring uv.lock up to date with the package files; `-- --upgrade` takes the newest versions."""
    uv(session, "lock", *session.posargs)
