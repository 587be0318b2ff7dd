"""Every check: `python3 noxfile.py -s tests`, or `nox -s tests` where nox is installed; `-l` lists them.

Run as a script it needs nothing but Python >= 3.10 and a package index: nox and uv are put into `.cache/`.
"""

from __future__ import annotations

import os
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
nox.options.envdir = os.environ.get("NOX_ENVDIR") or str(
    ROOT / ".nox" if bootstrap.cache_home().is_relative_to(ROOT) else bootstrap.cache_home() / "nox"
)

PACKAGES = sorted(path.parent for path in ROOT.glob("packages/*/pyproject.toml"))
SOURCES = [str(package / "src") for package in PACKAGES if (package / "src").is_dir()]


def uv(session: nox.Session, *arguments: str, **env: str) -> None:
    """Run the private uv, again when an index fails it once."""
    program = str(bootstrap.tool("uv"))
    env = {**bootstrap.tool_environment(), **env}
    bootstrap.attempt(
        lambda: session.run(program, *arguments, external=True, silent=True, env=env),
        what=f"uv {arguments[0]}",
    )


def sync(session: nox.Session, *groups: str, packages: bool = True) -> None:
    """Make the session's environment what uv.lock says: these groups and, mostly, every package."""
    what = ["--all-packages", "--group=test"] if packages else ["--no-install-workspace"]
    chosen = [f"--group={group}" if packages else f"--only-group={group}" for group in groups]
    uv(session, "sync", "--locked", *what, *chosen, UV_PROJECT_ENVIRONMENT=session.virtualenv.location)


def own_folders(session: nox.Session) -> dict[str, str]:
    """Return variables that keep a session away from the user's own OVOS configuration and memories."""
    base = Path(session.create_tmp())
    return {f"XDG_{name}_HOME": str(base / name.lower()) for name in ("CACHE", "CONFIG", "DATA", "STATE")}


@nox.session
def tests(session: nox.Session) -> None:
    """All packages' tests and the shared ones, without compiler or model."""
    sync(session, "tests")
    session.run("pytest", "-m", "not slow", "--timeout=300", *session.posargs, env=own_folders(session))


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


@nox.session
def types(session: nox.Session) -> None:
    """Mypy --strict over every package's source, the tools and this file."""
    sync(session, "types")
    session.run("mypy", *SOURCES, *session.posargs, env={"MYPYPATH": os.pathsep.join([*SOURCES, str(TOOLS)])})


@nox.session(venv_backend="none")
def ci(session: nox.Session) -> None:
    """Everything after `tests`."""
    for name in ("lint", "types"):
        session.notify(name)


@nox.session(venv_backend="none")
def lock(session: nox.Session) -> None:
    """Bring uv.lock up to date with the package files; `-- --upgrade` takes the newest versions."""
    uv(session, "lock", *session.posargs)
