"""The workflows ask for little, and the shell in their steps does what they are there for."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

import build_wheels
from workspace import ROOT, read_packages

FOLDER = ROOT / ".github" / "workflows"
WORKFLOWS: dict[str, dict[Any, Any]] = {
    file.stem: yaml.safe_load(file.read_text(encoding="utf-8")) for file in sorted(FOLDER.glob("*.yml"))
}
JOBS = [(name, job) for name, workflow in WORKFLOWS.items() for job in workflow["jobs"]]
EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")
SHORT_TERM = "ovos-memory-plugin-short-term"


def steps(workflow: str, job: str) -> list[dict[str, Any]]:
    return list(WORKFLOWS[workflow]["jobs"][job].get("steps", []))


def scripts() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for workflow, job in JOBS:
        yield from ((workflow, job, step) for step in steps(workflow, job) if "run" in step)


def step(workflow: str, job: str, word: str) -> dict[str, Any]:
    """Return the one step of a job whose script has a word."""
    (found,) = [step for step in steps(workflow, job) if word in step.get("run", "")]
    return found


def run(
    found: Mapping[str, Any], folder: Path, values: Mapping[str, str] | None = None, **environment: str
) -> tuple[subprocess.CompletedProcess[str], dict[str, str]]:
    """Run a step's script as a runner does.

    Args:
        found: The step.
        folder: The checkout.
        values: What the expressions in the step's ``env`` stand for.
        environment: More variables.

    Returns:
        How it ended, and what it wrote to the file of outputs.
    """
    given = {k: EXPRESSION.sub(lambda m: (values or {})[m[1]], v) for k, v in found.get("env", {}).items()}
    output = folder.parent / "output"
    output.write_text("", encoding="utf-8")
    github = {
        "GITHUB_OUTPUT": str(output),
        "GITHUB_WORKSPACE": str(folder),
        "RUNNER_TEMP": str(folder.parent),
    }
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", found["run"]],
        cwd=folder,
        env={**os.environ, **github, **given, **environment},
        capture_output=True,
        text=True,
        timeout=800,
    )
    lines = output.read_text(encoding="utf-8").splitlines()
    return done, dict(line.split("=", 1) for line in lines)


def git(folder: Path, *arguments: str) -> str:
    who = ["-c", "user.name=somebody", "-c", "user.email=somebody@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy with a history of one commit; its caches are this checkout's."""
    folder = tmp_path / "checkout"
    unwanted = shutil.ignore_patterns(
        ".git", ".cache", ".nox", ".tox", ".venv", "*_cache", "__pycache__", "dist"
    )
    shutil.copytree(ROOT, folder, ignore=unwanted, symlinks=True)
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message=First")
    return folder


# ---------------------------------------------------------------- what they are allowed


def test_there_are_the_workflows_that_the_guides_tell_of() -> None:
    assert set(WORKFLOWS) == {"ci", "_package", "nightly", "release"}


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_workflow_asks_for_nothing_and_its_jobs_for_what_they_need(name: str) -> None:
    granted = {job: table.get("permissions") for job, table in WORKFLOWS[name]["jobs"].items()}
    publishing = granted.pop("publish", {"id-token": "write"})

    assert WORKFLOWS[name]["permissions"] == {}
    assert all(table in ({}, {"contents": "read"}) for table in granted.values())
    assert publishing == {"id-token": "write"}


def test_the_job_that_may_publish_runs_nothing_of_the_repository() -> None:
    names = [found["uses"].split("@")[0] for found in steps("release", "publish")]

    assert names == ["actions/download-artifact", "pypa/gh-action-pypi-publish"]


def test_every_action_is_pinned_to_a_commit_whose_version_is_told() -> None:
    lines = [line for file in FOLDER.glob("*.yml") for line in file.read_text(encoding="utf-8").splitlines()]
    used = [line.strip() for line in lines if "uses:" in line and "uses: ./" not in line]

    assert used
    assert [
        line for line in used if not re.fullmatch(r"(- )?uses: [\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line)
    ] == []


def test_one_action_has_one_version_everywhere() -> None:
    text = "\n".join(file.read_text(encoding="utf-8") for file in FOLDER.glob("*.yml"))
    used = set(re.findall(r"uses: ([\w/-]+)@(\w{40})", text))

    assert len(used) == len({name for name, _ in used})


def test_no_expression_stands_in_a_script() -> None:
    assert [(workflow, job) for workflow, job, found in scripts() if EXPRESSION.search(found["run"])] == []


def test_no_checkout_leaves_its_token_behind() -> None:
    checkouts = [
        found for job in JOBS for found in steps(*job) if "actions/checkout" in found.get("uses", "")
    ]

    assert all(found["with"]["persist-credentials"] is False for found in checkouts)


# ---------------------------------------------------------------- what they run

SHIM = """\
#!{python}
import os, sys
if sys.argv[1:2] == ["noxfile.py"]:
    with open(os.environ["RECORDED"], "a") as file:
        print(*sys.argv[2:], file=file)
else:
    os.execv({python!r}, [{python!r}, *sys.argv[1:]])
"""


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where ``python noxfile.py`` writes its arguments instead of running."""
    shim = tmp_path / "bin" / "python"
    shim.parent.mkdir()
    shim.write_text(SHIM.format(python=sys.executable), encoding="utf-8")
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", f"{shim.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("RECORDED", str(tmp_path / "recorded"))
    return tmp_path / "recorded"


def cells(workflow: str, job: str) -> list[dict[str, str]]:
    """Return what the expressions of a job may stand for, one matrix cell after another."""
    matrix = WORKFLOWS[workflow]["jobs"][job].get("strategy", {}).get("matrix", {})
    lists = {key: values for key, values in matrix.items() if isinstance(values, list)}
    longest = max(map(len, lists.values()), default=1)
    chosen = [{f"matrix.{k}": str(v[n % len(v)]) for k, v in lists.items()} for n in range(longest)]
    return [
        {**cell, "inputs.package": "local-rag", "github.ref_name": "ovos-memory-core-v1.0.0"}
        for cell in chosen
    ]


def sessions() -> set[str]:
    text = (ROOT / "noxfile.py").read_text(encoding="utf-8")
    return set(re.findall(r"^@nox\.session.*\ndef (\w+)", text, re.MULTILINE))


def run_all(workflow: str, recorded: Path) -> list[list[str]]:
    """Run every script of a workflow that starts nox, for every cell of its matrix."""
    for _, job, found in scripts():
        if (
            job in WORKFLOWS[workflow]["jobs"]
            and found in steps(workflow, job)
            and "noxfile.py" in found["run"]
        ):
            for cell in cells(workflow, job):
                done, _ = run(found, recorded.parent, cell)
                assert done.returncode == 0, done.stderr
    return [line.split() for line in recorded.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("workflow", WORKFLOWS)
def test_every_session_that_a_step_runs_exists(workflow: str, recorded: Path) -> None:
    ran = run_all(workflow, recorded)

    assert ran
    assert all(words[0] == "-s" and words[1] in sessions() for words in ran), ran


def test_a_change_passes_all_that_ci_runs_here(recorded: Path) -> None:
    text = (ROOT / "noxfile.py").read_text(encoding="utf-8")
    (listed,) = re.findall(r"^CI = \((.*?)\)", text, re.MULTILINE | re.DOTALL)
    here = {"tests", *re.findall(r'"(\w+)"', listed)}

    assert {words[1] for words in run_all("ci", recorded)} == here - {"tox"}


def test_a_package_is_tested_in_environments_that_tox_knows(recorded: Path) -> None:
    asked = {name for words in run_all("_package", recorded) for name in words[-1].split(",")}
    tox = (ROOT / "tox.ini").read_text(encoding="utf-8")
    versions, names = re.findall(r"^env_list = py3\{([\d,]+)\}-\{([a-z,-]+)\}", tox, re.MULTILINE)[0]

    variants = ("", "-dist", "-lowest")
    assert asked == {f"py3{n}-local-rag{variant}" for n in versions.split(",") for variant in variants}
    assert set(names.split(",")) == {package.factor for package in read_packages().values() if package.leaf}


# ---------------------------------------------------------------- what changed


def planned(checkout: Path, base: str) -> list[str]:
    found = step("ci", "plan", "changed.py")
    expression = "github.event.pull_request.base.sha || github.event.before"
    done, outputs = run(found, checkout, {expression: base})
    assert done.returncode == 0, done.stderr
    packages: list[str] = json.loads(outputs["packages"])
    return packages


def commit(checkout: Path, *files: str) -> None:
    for file in files:
        with (checkout / file).open("a", encoding="utf-8") as stream:
            stream.write("\n")
    git(checkout, "commit", "--quiet", "--all", "--message=Next")


def test_the_matrix_is_made_of_what_changed(checkout: Path) -> None:
    first = git(checkout, "rev-parse", "HEAD")
    everything = [package.factor for package in read_packages().values() if package.leaf]

    commit(checkout, "README.md")
    assert planned(checkout, first) == []
    commit(checkout, "packages/ovos-memory-plugin-lexical/README.md")
    assert planned(checkout, first) == ["cli", "lexical"]
    commit(checkout, "packages/ovos-memory-core/src/ovos_memory/core/text.py")
    assert planned(checkout, first) == everything
    assert planned(checkout, "0" * 40) == everything


def test_every_night_is_about_every_package(checkout: Path) -> None:
    _, outputs = run(step("nightly", "plan", "changed.py"), checkout)

    assert json.loads(outputs["packages"]) == [p.factor for p in read_packages().values() if p.leaf]


# ---------------------------------------------------------------- all-green


@pytest.mark.skipif(not shutil.which("jq"), reason="the step runs jq, which GitHub's machines have")
@pytest.mark.parametrize(
    ("changes", "packages", "is_green"),
    [
        ({}, '["core"]', True),
        ({"packages": "skipped"}, "[]", True),
        ({"packages": "skipped"}, '["core"]', False),
        ({"packages": "skipped", "plan": "failure"}, "", False),
        ({"packages": "failure"}, '["core"]', False),
        ({"tests": "cancelled"}, '["core"]', False),
        ({"session": "skipped"}, "[]", False),
    ],
)
def test_green_is_green_all_over(
    tmp_path: Path, changes: dict[str, str], packages: str, is_green: bool
) -> None:
    needed = WORKFLOWS["ci"]["jobs"]["all-green"]["needs"]
    needs = {job: {"result": changes.get(job, "success"), "outputs": {}} for job in needed}
    needs["plan"]["outputs"] = {"packages": packages}
    folder = tmp_path / "empty"
    folder.mkdir()

    done, _ = run(step("ci", "all-green", "jq"), folder, {"toJSON(needs)": json.dumps(needs)})

    assert (done.returncode == 0) == is_green, done.stdout + done.stderr


def test_all_green_waits_for_every_job() -> None:
    jobs = WORKFLOWS["ci"]["jobs"]

    assert sorted(jobs["all-green"]["needs"]) == sorted(set(jobs) - {"all-green"})
    assert jobs["all-green"]["if"] == "always()"


# ---------------------------------------------------------------- a release


def test_a_tag_is_taken_apart(tmp_path: Path) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()

    _, outputs = run(
        step("release", "build", "TAG%-v"), folder, {"github.ref_name": f"{SHORT_TERM}-v1.2.0a1"}
    )

    assert outputs == {"distribution": SHORT_TERM, "version": "1.2.0a1"}


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that stands for the package index: it has the wheels of core and the test kit."""
    folder = tmp_path / "index"
    folder.mkdir()
    for name in ("ovos_memory_core", "ovos_memory_testing"):
        (wheel,) = build_wheels.build().glob(f"{name}-*.whl")
        shutil.copy(wheel, folder)
    monkeypatch.setenv("PIP_FIND_LINKS", f"{os.environ.get('PIP_FIND_LINKS', '')} {folder}".strip())
    return folder


@pytest.mark.slow
def test_a_release_is_built_verified_and_found_on_the_index(checkout: Path, index: Path) -> None:
    changelog = checkout / "packages" / SHORT_TERM / "CHANGELOG.md"
    tag = {"github.ref_name": f"{SHORT_TERM}-v1.0.0"}
    (checkout / ".cache").symlink_to(ROOT / ".cache")
    build = step("release", "build", "-s release")

    refused, _ = run(build, checkout, tag)
    assert refused.returncode != 0
    assert "the entry of 1.0.0 still says 'unreleased'" in refused.stdout + refused.stderr

    changelog.write_text(
        changelog.read_text(encoding="utf-8").replace("unreleased", "2026-11-30"), encoding="utf-8"
    )
    built, _ = run(build, checkout, tag)
    assert built.returncode == 0, built.stdout + built.stderr
    made = sorted(file.name for file in (checkout / "dist").iterdir())
    assert made == [
        "ovos_memory_plugin_short_term-1.0.0-py3-none-any.whl",
        "ovos_memory_plugin_short_term-1.0.0.tar.gz",
    ]

    shutil.copy(checkout / "dist" / made[0], index)  # instead of the job that publishes
    parts = {"needs.build.outputs.distribution": SHORT_TERM, "needs.build.outputs.version": "1.0.0"}
    for word in ("pip", "check_installed"):
        found = next(s for s in steps("release", "installed") if word in s.get("run", ""))
        done, _ = run(found, checkout, parts)
        assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(rf"^{SHORT_TERM}: \d+ passed", done.stdout, re.MULTILINE), done.stdout


def test_what_is_not_there_yet_is_waited_for(tmp_path: Path) -> None:
    folder, waits = tmp_path / "empty", tmp_path / "waits"
    for made in (folder, tmp_path / "bin", tmp_path / "fresh" / "bin"):
        made.mkdir(parents=True)
    stubs = {
        "bin/sleep": f'echo "$1" >> {waits}',
        "bin/python": "exit 0",
        "fresh/bin/pip": f'echo "$@" >> {tmp_path}/asked; [ "$(wc -l < {tmp_path}/asked)" -ge 3 ]',
    }
    for name, script in stubs.items():
        (tmp_path / name).write_text(textwrap.dedent(f"#!/usr/bin/env bash\n{script}\n"), encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    found = next(s for s in steps("release", "installed") if s.get("name") == "install")
    parts = {"needs.build.outputs.distribution": SHORT_TERM, "needs.build.outputs.version": "1.0.0"}

    done, _ = run(found, folder, parts, PATH=f"{tmp_path}/bin{os.pathsep}{os.environ['PATH']}")

    assert done.returncode == 0, done.stderr
    assert waits.read_text(encoding="utf-8").split() == ["0", "15", "30"]
    assert f"install --no-cache-dir {SHORT_TERM}==1.0.0" in (tmp_path / "asked").read_text(encoding="utf-8")
