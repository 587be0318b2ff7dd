"""The checks of this repository find what they are there for; each gets a copy that is wrong in one way."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import bootstrap
import build_wheels
import check_imports
import check_packages
import check_private
import check_wheels
import import_all
import install_wheels
from workspace import ROOT, closure, distribution, read_packages

LEXICAL = "ovos-memory-plugin-lexical"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of everything the checks look at, to be spoilt."""
    ignored = shutil.ignore_patterns("__pycache__", "tests", "*.db")
    shutil.copytree(ROOT / "packages", tmp_path / "packages", ignore=ignored)
    for name in ("pyproject.toml", "LICENSE", "tox.ini"):
        shutil.copyfile(ROOT / name, tmp_path / name)
    return tmp_path


def edit(file: Path, old: str, new: str) -> None:
    """Replace a text that must be there."""
    text = file.read_text(encoding="utf-8")
    assert old in text, f"{old!r} is not in {file}"
    file.write_text(text.replace(old, new), encoding="utf-8")


# ---------------------------------------------------------------- package files


def test_package_files_of_this_checkout_are_equal() -> None:
    assert check_packages.deviations(ROOT) == []


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('">=3.10"', '">=3.9"', "project.requires-python must be '>=3.10', is '>=3.9'"),
        ('"Apache-2.0"', '"MIT"', "project.license must be 'Apache-2.0', is 'MIT'"),
        ('"hatchling>=1.27,<2"', '"setuptools"', "build-system.requires must be"),
        ("src/ovos_memory/lexical", "src/ovos_memory", "targets.wheel.only-include must be"),
        ("core>=1.0,<2", "core==1.0.0", "'ovos-memory-core==1.0.0' must be a range"),
        ("core>=1.0,<2", "core>=9,<10", "must be '>=X.Y,<2'"),
        ("core>=1.0,<2", "core>=1.1,<2", "refuses ovos-memory-core 1.0.0 of this checkout"),
        ("core>=1.0,<2", "core>=1.0", "the bound of a sibling must be"),
        ('version = "1.0.0"', 'version = "1.0.1"', "CHANGELOG.md: no entry '## [1.0.1]'"),
        (f"\n{LEXICAL} = ", "\nother-name = ", f"must be ['{LEXICAL}'], are ['other-name']"),
        ("ovos_memory.lexical:", "ovos_memory.other:", "must be a class in ovos_memory.lexical"),
        (
            "[tool.uv]",
            "[tool.ruff]\nline-length = 80\n\n[tool.uv]",
            "tool.ruff.line-length must be None, is 80",
        ),
        ('"hypothesis>=6.100", ', "", "dependency-groups.test lacks hypothesis"),
        ("[tool.uv]", "\n" * 20 + "[tool.uv]", "must have 25 to 45 lines"),
    ],
)
def test_a_deviating_package_file_is_found(checkout: Path, old: str, new: str, complaint: str) -> None:
    edit(checkout / "packages" / LEXICAL / "pyproject.toml", old, new)

    found = [text for text in check_packages.deviations(checkout) if complaint in text]

    assert len(found) == 1
    assert found[0].startswith(f"packages/{LEXICAL}/")


@pytest.mark.parametrize("name", ["__init__.py", "py.typed"])
def test_a_file_on_the_namespace_is_found(checkout: Path, name: str) -> None:
    (checkout / "packages" / LEXICAL / "src" / "ovos_memory" / name).touch()

    assert check_packages.deviations(checkout) == [
        f"packages/{LEXICAL}/src/ovos_memory: must hold lexical alone, holds also ['{name}']"
    ]


def test_a_linked_or_changed_licence_is_found(checkout: Path) -> None:
    lexical, core = (checkout / "packages" / name / "LICENSE" for name in (LEXICAL, "ovos-memory-core"))
    lexical.unlink()
    lexical.symlink_to(checkout / "LICENSE")
    core.write_text("All rights reserved.\n", encoding="utf-8")

    assert check_packages.deviations(checkout) == [
        "packages/ovos-memory-core/LICENSE: differs from the one at the root",
        f"packages/{LEXICAL}/LICENSE: must be a file of its own; a link or a path outside breaks the sdist",
    ]


def test_a_package_that_the_root_forgot_is_found(checkout: Path) -> None:
    edit(checkout / "pyproject.toml", f"{LEXICAL} = {{ workspace = true }}\n", "")
    edit(checkout / "pyproject.toml", '    "ovos_memory.lexical",\n', "")
    edit(checkout / "tox.ini", f"DIST = {LEXICAL}", "DIST = other")

    assert check_packages.deviations(checkout) == [
        f"pyproject.toml: tool.uv.sources must name every package; differs in ['{LEXICAL}']",
        "pyproject.toml: tool.importlinter.root_packages differs in ['ovos_memory.lexical']",
        f"tox.ini: no environment installs {LEXICAL} alone",
    ]


# ---------------------------------------------------------------- imports


@pytest.mark.parametrize(
    ("line", "needed"),
    [
        ("import numpy", "numpy"),
        ("def f():\n    from chromadb.config import Settings", "chromadb"),
        ("import llama_cpp", "llama-cpp-python"),
        ("try:\n    import numpy\nexcept ValueError:\n    pass", "numpy"),
        ("from ovos_memory.recency import RecencyMemory", "ovos-memory-plugin-recency"),
        ("from ovos_memory import testing", "ovos-memory-testing"),
    ],
)
def test_an_undeclared_import_is_found(checkout: Path, line: str, needed: str) -> None:
    (checkout / "packages" / LEXICAL / "src/ovos_memory/lexical/new.py").write_text(line, encoding="utf-8")

    (found,) = check_imports.undeclared(checkout)

    assert found.startswith(f"packages/{LEXICAL}/src/ovos_memory/lexical/new.py:")
    assert found.endswith(f"but {LEXICAL} does not depend on {needed}")


def test_an_import_that_may_fail_needs_no_declaration(checkout: Path) -> None:
    new = checkout / "packages" / LEXICAL / "src/ovos_memory/lexical/new.py"
    new.write_text(
        "try:\n    import numpy\nexcept (ImportError, OSError):\n    numpy = None\n", encoding="utf-8"
    )

    assert check_imports.undeclared(checkout) == []


def test_imports_of_this_checkout_are_declared() -> None:
    assert check_imports.undeclared(ROOT) == []


def run_lint_imports(root: Path) -> subprocess.CompletedProcess[str]:
    sources = os.pathsep.join(str(path) for path in sorted(root.glob("packages/*/src")))
    return subprocess.run(
        [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"],
        cwd=root,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": sources, "COLUMNS": "200"},
    )


@pytest.mark.parametrize(
    ("package", "leaf", "line", "contract"),
    [
        ("ovos-memory-core", "core/text.py", "from ovos_memory.core import journal", "Inside core"),
        ("ovos-memory-core", "core/new.py", "", "Inside core"),
        (
            LEXICAL,
            "lexical/new.py",
            "from ovos_memory.recency import RecencyMemory",
            "Packages build on core",
        ),
        ("ovos-memory-core", "core/types.py", "from ovos_memory import lexical", "Packages build on core"),
    ],
)
def test_a_wrong_import_breaks_a_layer(
    checkout: Path, package: str, leaf: str, line: str, contract: str
) -> None:
    file = checkout / "packages" / package / "src/ovos_memory" / leaf
    file.write_text(
        (file.read_text(encoding="utf-8") if file.exists() else "") + f"\n{line}\n", encoding="utf-8"
    )

    done = run_lint_imports(checkout)

    assert done.returncode == 1
    assert re.search(rf"{contract}.*BROKEN", done.stdout), done.stdout + done.stderr


# ---------------------------------------------------------------- wheels


def make_wheel(folder: Path, name: str, *files: str) -> None:
    with zipfile.ZipFile(folder / f"{name}-1.0.0-py3-none-any.whl", "w") as archive:
        for file in (*files, f"{name}-1.0.0.dist-info/METADATA"):
            archive.writestr(file, "")


def test_wheels_that_can_live_together_pass(tmp_path: Path) -> None:
    make_wheel(tmp_path, "ovos_memory_core", "ovos_memory/core/__init__.py", "ovos_memory/core/py.typed")
    make_wheel(tmp_path, "ovos_memory_plugin_local_rag", "ovos_memory/local_rag/py.typed")
    make_wheel(tmp_path, "ovos_memory_plugins")

    assert check_wheels.problems(tmp_path) == []


def test_a_wheel_with_a_file_on_the_namespace_is_found(tmp_path: Path) -> None:
    make_wheel(tmp_path, "ovos_memory_core", "ovos_memory/__init__.py", "ovos_memory/core/py.typed")

    assert check_wheels.problems(tmp_path) == [
        "ovos_memory_core-1.0.0-py3-none-any.whl: ovos_memory/__init__.py is outside ovos_memory/core/"
    ]


def test_a_file_that_two_wheels_own_is_found(tmp_path: Path) -> None:
    make_wheel(tmp_path, "ovos_memory_core", "ovos_memory/core/py.typed")
    make_wheel(tmp_path, "ovos_memory_cli", "ovos_memory/core/py.typed", "ovos_memory/cli/py.typed")

    assert check_wheels.problems(tmp_path)[-1] == (
        "ovos_memory/core/py.typed: in ovos_memory_cli-1.0.0-py3-none-any.whl and "
        "ovos_memory_core-1.0.0-py3-none-any.whl"
    )


def test_a_wheel_without_its_type_marker_is_found(tmp_path: Path) -> None:
    make_wheel(tmp_path, "ovos_memory_core", "ovos_memory/core/__init__.py")

    assert check_wheels.problems(tmp_path) == [
        "ovos_memory_core-1.0.0-py3-none-any.whl: ovos_memory/core/py.typed is missing"
    ]


def test_a_folder_without_wheels_does_not_pass(tmp_path: Path) -> None:
    assert check_wheels.problems(tmp_path) == [f"{tmp_path}: no wheel found"]


@pytest.mark.slow
def test_a_built_wheel_with_a_file_on_the_namespace_is_found(checkout: Path) -> None:
    package = checkout / "packages" / LEXICAL
    (package / "src/ovos_memory/__init__.py").touch()
    edit(package / "pyproject.toml", '["src/ovos_memory/lexical"]', '["src/ovos_memory"]')

    built = build_wheels.build(checkout, checkout / ".cache")

    assert check_wheels.problems(built) == [
        "ovos_memory_plugin_lexical-1.0.0-py3-none-any.whl: "
        "ovos_memory/__init__.py is outside ovos_memory/lexical/"
    ]


# ---------------------------------------------------------------- one package alone


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    """The interpreter of an environment that holds nothing."""
    folder = tmp_path / "empty"
    command = [str(bootstrap.tool("uv")), "venv", "--quiet", "--python", sys.executable, str(folder)]
    subprocess.run(command, check=True)
    return folder / ("Scripts" if os.name == "nt" else "bin") / "python"


def import_all_of(python: Path, name: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(python), "-I", import_all.__file__, name], capture_output=True, text=True)


@pytest.mark.slow
def test_a_bound_that_no_sibling_meets_stops_the_installation(
    checkout: Path, empty: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    edit(checkout / "packages" / LEXICAL / "pyproject.toml", "core>=1.0,<2", "core>=9,<10")

    with pytest.raises(subprocess.CalledProcessError):
        install_wheels.install(LEXICAL, empty, root=checkout)

    assert "ovos-memory-core" in capfd.readouterr().err


@pytest.mark.slow
def test_an_import_that_only_a_shared_environment_allows_fails_alone(checkout: Path, empty: Path) -> None:
    new = checkout / "packages" / LEXICAL / "src/ovos_memory/lexical/new.py"
    new.write_text("import hypothesis\n", encoding="utf-8")

    install_wheels.install(LEXICAL, empty, root=checkout)
    done = import_all_of(empty, LEXICAL)

    assert done.returncode == 1
    assert "No module named 'hypothesis'" in done.stderr


@pytest.mark.slow
def test_a_package_installed_alone_imports(checkout: Path, empty: Path) -> None:
    install_wheels.install(LEXICAL, empty, root=checkout)

    done = import_all_of(empty, LEXICAL)

    assert done.returncode == 0, done.stderr
    assert re.fullmatch(rf"{LEXICAL}: \d+ modules import\n", done.stdout.splitlines(keepends=True)[-1])


def test_lowest_names_the_dependencies_of_siblings_too(tmp_path: Path) -> None:
    packages = read_packages()
    for package in packages.values():
        (tmp_path / f"{package.name.replace('-', '_')}-{package.version}-py3-none-any.whl").touch()

    asked = install_wheels.requirements(LEXICAL, tmp_path, packages, tests=False, lowest=True)

    assert [Path(text).name for text in asked[:2]] == [
        "ovos_memory_core-1.0.0-py3-none-any.whl",
        "ovos_memory_plugin_lexical-1.0.0-py3-none-any.whl",
    ]
    assert asked[2:] == packages["ovos-memory-core"].dependencies


def test_siblings_come_before_those_that_need_them() -> None:
    packages = read_packages()

    assert [package.name for package in closure([LEXICAL, "pytest"], packages)] == [
        "ovos-memory-core",
        LEXICAL,
    ]


@pytest.mark.parametrize(
    ("requirement", "name"),
    [("Ovos_Utils[extras]>=1,<2; python_version > '3'", "ovos-utils"), ("a.b", "a-b"), (" x ~=1", "x")],
)
def test_a_requirement_is_known_by_its_distribution(requirement: str, name: str) -> None:
    assert distribution(requirement) == name


# ---------------------------------------------------------------- nothing of one machine


@pytest.mark.parametrize(
    "place",
    ["see {}root/.cache/x", "cd {}work/main", "{}home/alice/notes", "https:{0}{0}mirror-7.example{0}simple"],
)
def test_a_path_or_host_of_one_machine_is_found(place: str) -> None:
    text = "first\n" + place.format("/")

    assert check_private.findings([("a.md", text)], ["mirror-7.example"])[0].startswith("a.md:2: ")


@pytest.mark.parametrize(
    "line", ["/home/user/persona.json", "~/.local/share/ovos", "http://localhost:8000/v1"]
)
def test_a_path_that_anyone_may_have_passes(line: str) -> None:
    assert check_private.findings([("a.md", line)], ["mirror-7.example"]) == []


def test_a_lock_file_from_another_index_is_found() -> None:
    lock = 'source = { registry = "https://pypi.org/simple" }\nurl = "https://mirror.example/a.whl"\n'

    assert check_private.findings([("uv.lock", lock)]) == [
        "uv.lock: packages from mirror.example; lock with the public index"
    ]


# ---------------------------------------------------------------- the two commands


def test_the_readme_opens_with_the_two_commands() -> None:
    opening = (ROOT / "README.md").read_text(encoding="utf-8").split("```")[1]

    assert re.findall(r"^python3 noxfile\.py -s (\w+)", opening, re.MULTILINE) == ["demo", "tests"]


def test_ci_runs_the_tests_first_and_then_everything_else() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")

    assert re.findall(r"^python3 noxfile\.py -s (\w+)$", script, re.MULTILINE) == ["tests", "ci"]
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


def test_an_old_python_gets_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 8, 1))

    with pytest.raises(SystemExit, match=r"Python >= 3\.10 is needed"):
        bootstrap.run_nox(["-l"])


def test_a_download_that_fails_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    answers = iter([OSError("reset"), OSError("reset"), None])
    monkeypatch.setattr("time.sleep", waits.append)

    def download() -> None:
        if error := next(answers):
            raise error

    bootstrap.attempt(download, what="the download")

    assert waits == [2.0, 5.0]


def test_a_download_that_keeps_failing_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    tries: list[int] = []

    def download() -> None:
        tries.append(1)
        raise OSError("no route")

    with pytest.raises(OSError, match="no route"):
        bootstrap.attempt(download, what="the download")
    assert len(tries) == 4


def test_what_no_second_try_can_mend_is_told_at_once() -> None:
    tries: list[int] = []

    def out_of_date() -> None:
        tries.append(1)
        raise RuntimeError("the lock file is older than the package files")

    with pytest.raises(RuntimeError, match="older"):
        bootstrap.attempt(out_of_date, what="uv")
    assert len(tries) == 1


def test_a_checkout_that_cannot_be_written_uses_the_temporary_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "checkout").write_text("a file, so that nothing can be made below it", encoding="utf-8")
    monkeypatch.setattr(bootstrap, "checkout", lambda: tmp_path / "checkout")
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path / "temporary"))

    assert bootstrap.cache_home().parent.parent == tmp_path / "temporary"


def test_a_home_that_cannot_be_written_moves_uvs_cache(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.delenv("UV_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))

    assert bootstrap.tool_environment()["UV_CACHE_DIR"] == str(bootstrap.cache_home() / "uv")


@pytest.mark.slow
def test_the_sessions_are_listed_from_any_folder(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "noxfile.py"), "-l"]

    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
    for name in (
        "tests",
        "demo",
        "ci",
        "lint",
        "types",
        "layers",
        "wheels",
        "together",
        "evil",
        "tox",
        "release",
    ):
        assert re.search(rf"^[*-] {name} ->", done.stdout, re.MULTILINE)
