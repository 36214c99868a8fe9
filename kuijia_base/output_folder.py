"""The folder an experiment writes into: refused before anything is measured, and every file whole or absent."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from kuijia_base.errors import InputError, quoted
from kuijia_base.partial_file import replace_file
from kuijia_base.reading import reason_of
from kuijia_base.text import is_file_name, write_bytes, write_text


class OutputFolder:
    """A folder that exists and can be written to; `written` names its new files, oldest first.

    Raises:
        InputError: it cannot be made or written to.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.written: list[str] = []
        self._made: list[Path] = []
        try:
            self._made += [folder for folder in (path, *path.parents) if not folder.exists()]
            path.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=path):
                pass
        except (OSError, ValueError) as error:  # ValueError: the path has a NUL
            expected = "a folder that can be written to"
            raise InputError(path, "", f"cannot be written to ({reason_of(error)})", expected) from error

    def write_json(self, name: str, data: object) -> None:
        """Raises InputError when the file cannot be written, as all `write_` methods do."""
        self.write_text(name, json.dumps(data, indent=1, allow_nan=False) + "\n")

    def write_text(self, name: str, text: str) -> None:
        write_text(self._place(name), text)
        self._note(name)

    def write_bytes(self, name: str, content: bytes) -> None:
        write_bytes(self._place(name), content)
        self._note(name)

    def write_with(self, name: str, write: Callable[[Path], None]) -> None:
        """Let `write` make a file of the same suffix beside it, which then takes the file's place."""
        target = self._place(name)
        try:
            replace_file(target, write, target.suffix)
        except OSError as error:
            raise InputError(target, "", f"cannot be written ({error.strerror})", "space and permission") from error
        self._note(name)

    def remove_if_empty(self) -> None:
        """Remove what folders were made for it, if there is nothing in them."""
        if self._made and not any(self.path.iterdir()):
            for folder in self._made:
                folder.rmdir()
            self._made.clear()

    def require_names(self, names: Iterable[str]) -> None:
        """Raise InputError unless the folder can have files of these names; to be called before any is written."""
        for name in names:
            self._place(name)

    def _place(self, name: str) -> Path:
        """Return the path of a file in this folder itself; raises InputError for a name that leads elsewhere."""
        if not is_file_name(name):
            raise InputError(self.path, "", f"a file called {quoted(name)}", "a name without folders")
        return self.path / name

    def _note(self, name: str) -> None:
        if name not in self.written:
            self.written.append(name)
