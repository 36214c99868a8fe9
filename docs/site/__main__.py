"""Builds the site: `python -m docs.site [DIR]` stages, generates, runs Sphinx and checks all links of the result."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

from docs.site.links import broken_in_site
from docs.site.reference_pages import api_pages, commands_page
from docs.site.schema_pages import schemas_of, schemas_page
from docs.site.staging import StagedPages

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    parser = argparse.ArgumentParser(prog="./run docs", description="Build the documentation site.")
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "build" / "docs", metavar="DIR")
    folder = parser.parse_args().folder.resolve()
    stage = StagedPages(ROOT, folder / "pages")
    stage.fill()
    generate(stage)
    site = folder / "html"
    shutil.rmtree(site, ignore_errors=True)
    options = ["-q", "-W", "--keep-going", "-E", "-b", "html", "-c", str(Path(__file__).parent)]
    # In a process of its own: modules of verbs change how this one logs.
    sphinx = [sys.executable, "-m", "sphinx", *options, "-d", folder / "doctrees", stage.folder, site]
    status = subprocess.run(sphinx, cwd=ROOT, check=False).returncode
    if status != 0:
        return status
    broken = list(broken_in_site(site))
    sys.stderr.write("".join(f"{line}\n" for line in broken))
    if broken:
        return 1
    sys.stdout.write(f"wrote {site / 'index.html'}\n")
    return 0


def generate(stage: StagedPages) -> None:
    """Write the pages that are made from code."""
    stage.write("reference/commands.md", commands_page())
    for place, text in api_pages():
        stage.write(place, text)
    schemas = schemas_of(stage.root)
    stage.write("reference/schemas.md", schemas_page(schemas))
    for file in schemas:
        shutil.copyfile(file, stage.folder / "reference" / file.name)


if __name__ == "__main__":
    sys.exit(main())
