"""Containers are made from files that are there, by commands that exist."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator

import pytest

from kuijia.cli.verbs import VERBS
from tests.packaging.project_lists import ROOT, project_lists

FILES = ("Dockerfile", "lab.Dockerfile")


def instructions(name: str) -> Iterator[tuple[str, str]]:
    """Yield the instructions of a Dockerfile with their arguments."""
    lines = [line for line in (ROOT / name).read_text().splitlines() if line and not line.startswith("#")]
    for line in "\n".join(lines).replace("\\\n", " ").splitlines():
        word, _, rest = line.partition(" ")
        yield word, rest


@pytest.mark.parametrize("name", FILES)
def test_what_is_copied_is_in_the_clone_or_in_an_earlier_stage(name: str) -> None:
    stages: set[str] = set()
    for word, rest in instructions(name):
        if word == "FROM":
            assert rest.split()[0] in stages or ":" in rest.split()[0], "a base image without a tag changes by itself"
            stages.update(rest.split()[2:])
        elif word == "COPY":
            *sources, _ = shlex.split(rest)
            if sources[0].startswith("--from="):
                assert sources[0].removeprefix("--from=") in stages
            else:
                assert all((ROOT / source).exists() for source in sources)


@pytest.mark.parametrize("name", FILES)
def test_images_keep_no_package_lists(name: str) -> None:
    fetching = [rest for word, rest in instructions(name) if word == "RUN" and ("apt-get" in rest or "-debian" in rest)]
    assert fetching
    assert all("rm -rf /var/lib/apt/lists/*" in rest for rest in fetching)


def test_the_image_of_the_solver_runs_as_a_user_and_installs_extras_that_exist() -> None:
    steps = list(instructions("Dockerfile"))
    assert ("USER", "kuijia") in steps[[word for word, _ in steps].index("COPY") :]
    (extras,) = [found for _, rest in steps for found in re.findall(r"/src\[([\w,]+)\]", rest)]
    assert set(extras.split(",")) <= project_lists().keys()


@pytest.mark.parametrize("name", FILES)
def test_examples_in_their_heads_name_verbs(name: str) -> None:
    used = re.findall(r"# +docker run .* kuijia (?:uml -- kuijia )?(\w+)", (ROOT / name).read_text())
    assert used
    assert set(used) <= VERBS.keys()


def test_images_leave_out_what_git_leaves_out() -> None:
    def patterns(name: str) -> set[str]:
        lines = (ROOT / name).read_text().splitlines()
        return {line.strip("/").removeprefix("**/") for line in lines if line and not line.startswith("#")}

    assert patterns(".gitignore") <= patterns(".dockerignore")


def test_the_development_container_is_the_lab_without_the_clone() -> None:
    settings = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text())
    build = settings["build"]
    dockerfile = (ROOT / ".devcontainer" / build["dockerfile"]).resolve()
    assert dockerfile == ROOT / "lab.Dockerfile"
    assert f" AS {build['target']}\n" in dockerfile.read_text()
    assert settings["runArgs"] == ["--privileged"]
