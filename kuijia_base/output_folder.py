"""The output folder of an experiment: checked before the measurement; each file is written as a whole or not at all."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from kuijia_base.errors import InputError, quoted
from kuijia_base.option_values import is_page
from kuijia_base.reading import reason_of
from kuijia_base.text import is_file_name, require_writable, write_bytes


def output_folder(path: Path | None) -> AbstractContextManager[OutputFolder | None]:
    """Return the folder for a block, which without a path has None."""
    return nullcontext() if path is None else OutputFolder(path)


class OutputFolder:
    """A folder that exists and can be written to; `written` names its new files, oldest first.

    After a block that has written nothing, the folders that were created for it are gone again.

    The name of an HTML page in its place asks for this page alone: it takes the page that is written, and nothing else.

    Attributes:
        page: the name of that file in its folder, None for a folder with all files.

    Raises:
        InputError: it cannot be created or written to.
    """

    def __init__(self, path: Path) -> None:
        self.page = path.name if is_page(path) else None
        self.path = path if self.page is None else path.parent
        self.written: list[str] = []
        self._made: list[Path] = []
        if self.page is not None:
            require_writable(path)
            return
        try:
            self._made += [folder for folder in (path, *path.parents) if not folder.exists()]
            path.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=path):
                pass
        except (OSError, ValueError) as error:  # ValueError: the path has a NUL
            expected = "a folder that can be written to"
            raise InputError(path, "", f"cannot be written to ({reason_of(error)})", expected) from error

    def write_json(self, name: str, data: object) -> None:
        """Write data as JSON; raise InputError if the file cannot be written, as all `write_` methods do."""
        self.write_text(name, _outlined(json.loads(json.dumps(data, allow_nan=False))) + "\n")

    def stamp(self, key: str, data: Mapping[str, object]) -> None:
        """Add data under a key to each JSON object that was written; what an object has there itself stays.

        Raises:
            InputError: a file cannot be written.
        """
        for name in self.written if self.page is None else ():
            if name.endswith(".json"):
                found = json.loads(self._place(name).read_text(encoding="utf-8"))
                if isinstance(found, dict):
                    self.write_json(name, {**found, key: {**data, **found.get(key, {})}})

    def write_text(self, name: str, text: str) -> None:
        self.write_bytes(name, text.encode())

    def write_bytes(self, name: str, content: bytes) -> None:
        if self._keeps(name):
            write_bytes(self._place(name), content)
            self._note(name)

    def __enter__(self) -> OutputFolder:
        return self

    def __exit__(self, *_: object) -> None:
        if self._made and not any(self.path.iterdir()):
            for folder in self._made:
                folder.rmdir()

    def require_names(self, names: Iterable[str]) -> None:
        """Raise InputError unless the folder can have files with these names; call this before writing any."""
        for name in names:
            if self._keeps(name) and (path := self._place(name)).is_dir():
                raise InputError(path, "", "is a folder", "a file, or no such name")

    def _keeps(self, name: str) -> bool:
        return self.page is None or is_page(Path(name))

    def _place(self, name: str) -> Path:
        """Return the path of a file directly in this folder; raise InputError for a name that leads elsewhere."""
        if self.page is not None:
            return self.path / self.page
        if not is_file_name(name):
            raise InputError(self.path, "", f"a file called {quoted(name)}", "a name without folders")
        return self.path / name

    def _note(self, name: str) -> None:
        name = self.page or name
        if name not in self.written:
            self.written.append(name)


def _outlined(data: object, depth: int = 0) -> str:
    """Return JSON with a line for each object whose members have no objects, such as a point with its runs."""
    members = list(data.values() if isinstance(data, dict) else data if isinstance(data, list) else ())
    if not any(_is_nested(each) for each in members):
        return json.dumps(data)
    names = [f"{json.dumps(key)}: " for key in data] if isinstance(data, dict) else [""] * len(members)
    lines = (f"{name}{_outlined(each, depth + 1)}" for name, each in zip(names, members, strict=True))
    indent = "\n" + " " * depth
    begin, end = "{}" if isinstance(data, dict) else "[]"
    return f"{begin}{indent} {f',{indent} '.join(lines)}{indent}{end}"


def _is_nested(data: object) -> bool:
    """Return True for an object, and for a list of objects or lists."""
    return isinstance(data, dict) or (isinstance(data, list) and any(isinstance(each, dict | list) for each in data))
