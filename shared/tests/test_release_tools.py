"""What decides about tests and releases: which packages a change concerns, and what stands against a tag."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import changed
import changelogs
import release
from workspace import ROOT, read_packages

CORE, LEXICAL = "ovos-memory-core", "ovos-memory-plugin-lexical"
TODAY = "2026-11-30"


def everything_is_released(requirement: str) -> bool:
    return True


@pytest.fixture
def packages_folder(tmp_path: Path) -> Path:
    """A copy of the package files, core's and lexical's entries dated, to be spoilt."""
    for name in read_packages():
        folder = tmp_path / "packages" / name
        folder.mkdir(parents=True)
        for file in ("pyproject.toml", "CHANGELOG.md"):
            shutil.copyfile(ROOT / "packages" / name / file, folder / file)
    for name in (CORE, LEXICAL):
        file = tmp_path / "packages" / name / "CHANGELOG.md"
        file.write_text(file.read_text(encoding="utf-8").replace("unreleased", TODAY), encoding="utf-8")
    return tmp_path


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")


# ---------------------------------------------------------------- what changed


@pytest.mark.parametrize(
    ("files", "concerned"),
    [
        (["README.md", "shared/docs/index.md", ".github/RELEASING.md"], []),
        (
            [f"packages/{LEXICAL}/src/ovos_memory/lexical/store.py"],
            ["ovos-memory-cli", LEXICAL, "ovos-memory-plugins"],
        ),
        (["packages/ovos-memory-plugins/README.md"], ["ovos-memory-plugins"]),
        (
            ["packages/ovos-memory-plugin-local-rag/README.md"],
            ["ovos-memory-plugin-local-rag", "ovos-memory-plugins"],
        ),
    ],
)
def test_a_change_concerns_what_was_edited_and_what_needs_it(files: list[str], concerned: list[str]) -> None:
    assert changed.concerned(files, read_packages()) == concerned


@pytest.mark.parametrize(
    "file",
    [
        "packages/ovos-memory-core/src/ovos_memory/core/text.py",
        "packages/ovos-memory-testing/README.md",
        "shared/tools/install_wheels.py",
        ".github/workflows/_package.yml",
        "uv.lock",
        "tox.ini",
    ],
)
def test_a_change_of_what_all_build_on_concerns_all(file: str) -> None:
    assert changed.concerned([file], read_packages()) == sorted(read_packages())


def test_a_folder_without_a_package_concerns_nobody() -> None:
    assert changed.concerned(["packages/gone/README.md", "packages/README.md"], read_packages()) == []


def test_packages_are_called_as_in_tox_and_those_without_code_are_left_out() -> None:
    assert changed.factors([CORE, LEXICAL, "ovos-memory-plugins"], read_packages()) == ["core", "lexical"]


def test_what_was_edited_is_told_apart_from_what_is_concerned(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(changed, "changed_files", {"base": [f"packages/{LEXICAL}/README.md"]}.get)

    changed.main(["base"])

    assert capsys.readouterr().out.splitlines() == ['packages=["cli", "lexical"]', 'edited=["lexical"]']


def test_a_base_that_git_does_not_know_tells_nothing() -> None:
    assert changed.changed_files("0" * 40) is None


# ---------------------------------------------------------------- changelogs

GOOD = """# Changes of ovos-memory-core

## [1.1.0] - unreleased

### Fixed

* One thing.

## [1.0.0] - 2026-11-30

### Added

* First release.
"""


def test_a_changelog_is_read_from_the_top() -> None:
    assert [(e.version, e.is_released) for e in changelogs.entries(GOOD)] == [
        ("1.1.0", False),
        ("1.0.0", True),
    ]
    assert list(changelogs.problems(GOOD)) == []


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("# Changes of ovos-memory-core", "# News", "the first line must be"),
        ("[1.1.0] - unreleased", "1.1.0", "'## 1.1.0' must read '## [X.Y.Z] - YYYY-MM-DD'"),
        ("[1.1.0]", "[1.1]", None),
        ("[1.1.0]", "[next]", "'## next' must read"),
        ("[1.1.0]", "[1.0.0]", "versions must fall from top to bottom"),
        ("unreleased", "2026-13-01", "'2026-13-01' must be a date"),
        ("2026-11-30", "unreleased", "1.0.0 is not released, but stands below one that is"),
        ("### Fixed", "### Repaired", "'### Repaired' must be one of Added, Changed"),
        ("* One thing.", "", "'### Fixed' lists no change"),
        ("### Fixed\n\n* One thing.", "One thing.", "each change belongs under one of"),
    ],
)
def test_a_changelog_of_another_form_is_found(old: str, new: str, problem: str | None) -> None:
    assert old in GOOD

    found = list(changelogs.problems(GOOD.replace(old, new, 1)))

    assert len(found) == (problem is not None)
    assert problem is None or problem in found[0]


# ---------------------------------------------------------------- releases


def objections(root: Path, tag: str, released: set[str] | None = None) -> list[str]:
    def is_released(requirement: str) -> bool:
        return released is None or requirement in released

    return list(release.objections(tag, read_packages(root), is_released))


@pytest.mark.parametrize("name", [CORE, LEXICAL])
def test_a_version_with_a_dated_entry_on_released_siblings_may_be_released(
    packages_folder: Path, name: str
) -> None:
    assert objections(packages_folder, f"{name}-v1.0.0") == []


@pytest.mark.parametrize(
    "tag", ["v1.0.0", "lexical-v1.0.0", f"{LEXICAL}-1.0.0", f"{LEXICAL}-v", f"{LEXICAL}-v1.0/x"]
)
def test_a_tag_of_another_form_is_refused(packages_folder: Path, tag: str) -> None:
    (found,) = objections(packages_folder, tag)

    assert "must read <distribution>-v<version>" in found


def test_a_tag_of_no_package_is_refused(packages_folder: Path) -> None:
    (found,) = objections(packages_folder, "ovos-memory-plugin-other-v1.0.0")

    assert "there is no package ovos-memory-plugin-other" in found


def test_a_version_without_an_entry_in_the_changelog_is_refused(packages_folder: Path) -> None:
    edit(packages_folder / "packages" / LEXICAL / "pyproject.toml", 'version = "1.0.0"', 'version = "1.0.1"')

    (found,) = objections(packages_folder, f"{LEXICAL}-v1.0.1")

    assert found.endswith(f"packages/{LEXICAL}/CHANGELOG.md has no entry '## [1.0.1] - YYYY-MM-DD'")


def test_an_entry_without_a_date_is_refused(packages_folder: Path) -> None:
    edit(packages_folder / "packages" / LEXICAL / "CHANGELOG.md", TODAY, "unreleased")

    (found,) = objections(packages_folder, f"{LEXICAL}-v1.0.0")

    assert "the entry of 1.0.0 still says 'unreleased'" in found


def test_an_entry_without_changes_is_refused(packages_folder: Path) -> None:
    edit(packages_folder / "packages" / LEXICAL / "CHANGELOG.md", "* First release.", "")

    (found,) = objections(packages_folder, f"{LEXICAL}-v1.0.0")

    assert "lists no change" in found


def test_a_tag_of_another_version_than_the_files_is_refused(packages_folder: Path) -> None:
    found = objections(packages_folder, f"{LEXICAL}-v1.0.1")

    assert f"{LEXICAL}-v1.0.1: packages/{LEXICAL}/pyproject.toml says version 1.0.0" in found


def test_a_sibling_that_no_release_meets_is_named(packages_folder: Path) -> None:
    (found,) = objections(packages_folder, f"{LEXICAL}-v1.0.0", released=set())

    assert found.startswith(f"{LEXICAL}-v1.0.0: pip finds no release of {CORE} that meets")


def test_siblings_of_extras_count_too(packages_folder: Path) -> None:
    edit(packages_folder / "packages/ovos-memory-plugins/CHANGELOG.md", "unreleased", TODAY)

    found = objections(packages_folder, "ovos-memory-plugins-v2.0.0", released=set())

    names = ("composite", "entity", "lexical", "local-rag", "longterm", "recency", "short-term")
    assert [text.split()[6] for text in found] == [f"ovos-memory-plugin-{name}" for name in names]


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that stands for the package index."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


@pytest.fixture
def pip(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An interpreter that has pip, which environments made by uv lack."""
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "with-pip")], check=True)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "with-pip" / "bin" / "python"))


@pytest.mark.slow
@pytest.mark.usefixtures("pip")
def test_the_index_is_asked_for_siblings(index: Path) -> None:
    import zipfile

    assert not release.on_index("somebodys-thing>=1.0,<2")
    with zipfile.ZipFile(index / "somebodys_thing-1.2.0-py3-none-any.whl", "w") as wheel:
        where = "somebodys_thing-1.2.0.dist-info"
        wheel.writestr(f"{where}/METADATA", "Metadata-Version: 2.1\nName: somebodys-thing\nVersion: 1.2.0\n")
        wheel.writestr(f"{where}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{where}/RECORD", "")

    assert release.on_index("somebodys-thing>=1.0,<2")
    assert not release.on_index("somebodys-thing>=1.3,<2")
