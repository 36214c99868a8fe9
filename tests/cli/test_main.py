"""`kuijia` without a verb."""

from __future__ import annotations

from importlib import metadata

import pytest

from kuijia.cli.main import main


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"kuijia {metadata.version('kuijia')}\n"
