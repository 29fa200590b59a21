"""What a release stands on: workflows, versions that are tested and named, and no index that has not the package."""

import re
import subprocess
import tomllib
from pathlib import Path

import flax
import pytest
import yaml

ROOT = Path(__file__).parent.parent
GITHUB = ROOT / ".github"
WORKFLOWS = {path.stem: yaml.safe_load(path.read_text()) for path in sorted(GITHUB.glob("workflows/*.yml"))}
JOBS = [job for workflow in WORKFLOWS.values() for job in workflow["jobs"].values()]
STEPS = [step for job in JOBS for step in job["steps"]]
FORMS = sorted(path for path in GITHUB.glob("ISSUE_TEMPLATE/*.yml") if path.stem != "config")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
INSTALL = (ROOT / "scripts" / "docs" / "start" / "install.md").read_text()


def test_workflows_run_what_is_there_and_actions_of_one_commit():
    assert {"ci", "weekly", "release"} <= set(WORKFLOWS)
    for step in STEPS:
        if "uses" in step:
            assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", step["uses"])
        elif not step["run"].startswith("test "):
            assert (ROOT / step["run"].split()[0]).stat().st_mode & 0o111, step["run"]


def test_only_the_job_that_publishes_may_ask_for_an_identity():
    assert all(workflow["permissions"] == {"contents": "read"} for workflow in WORKFLOWS.values())
    (publishing,) = (job for job in JOBS if "permissions" in job)
    assert (publishing["permissions"], publishing["environment"]) == ({"id-token": "write"}, "pypi")
    assert "secrets" not in "".join(path.read_text() for path in GITHUB.glob("workflows/*.yml"))


def test_versions_that_are_tested_are_those_that_are_named():
    tested = {version for job in JOBS if "strategy" in job for version in job["strategy"]["matrix"]["python"]}
    named = {line.rpartition(" ")[2] for line in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", line)}
    assert tested == named == {"3.11", "3.12", "3.13"}
    assert all(f"Python {version}" in INSTALL for version in tested | {"3.14"})


def test_the_weekly_job_turns_off_both_flags_of_flax():
    names = {name.lower() for name in WORKFLOWS["weekly"]["jobs"]["newest"]["env"]}
    assert names == {"nnx_graph_mode", "nnx_graph_updates"}
    assert all(hasattr(flax.config, name) for name in names)
    weekly = WORKFLOWS["weekly"]["jobs"]["newest"]["strategy"]["matrix"]
    assert [one["flax"] for one in weekly["include"]] == ["tree mode"]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.stem)
def test_forms_for_issues_are_whole(form):
    fields = yaml.safe_load(form.read_text())
    assert {"name", "description", "body"} <= set(fields)
    assert all(field["attributes"]["label"] for field in fields["body"])
    needed = {field["id"] for field in fields["body"] if field.get("validations", {}).get("required")}
    if form.stem == "wrong_encoding":
        assert {"formula", "code", "numbers"} <= needed


def test_nobody_is_told_to_install_from_an_index():
    """It would be of whoever takes the name."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    told = re.compile(r"(?:pip|uv)[^\n`]{0,40} (?:install|add|download)[^\n`]{0,80}?[ '\"]posenc[-_]jax(?![\w.*/-])")
    names = {*filter(None, listed.split("\0"))} - {"tests/test_release.py"}
    ends = ("", ".md", ".py", ".ipynb", ".toml", ".yml", ".yaml", ".txt")
    texts = {name: (ROOT / name).read_text(errors="ignore") for name in names if (ROOT / name).suffix in ends}
    assert [name for name, text in texts.items() if told.search(text)] == []
    assert told.search("pip install 'posenc-jax[text]'")
    assert told.search("pip install -U posenc_jax")
    assert not told.search("pip install 'posenc_jax.zip[report]'")
