"""Changes to a box are on its disk first, and are undone in reverse, once, even after a crash or a restart."""

from __future__ import annotations

from pathlib import Path

import pytest

from kuijia_base.commands import find_program, run_command
from kuijia_base.errors import TestbedError
from testbed.boxes import record
from testbed.boxes.changes import BoxStep
from testbed.boxes.record import BoxRecord


@pytest.fixture
def diary(tmp_path: Path) -> Path:
    """Return the file that the steps of `step` write into."""
    path = tmp_path / "diary"
    path.touch()
    return path


def step(diary: Path, word: str, *, lasting: bool = False) -> BoxStep:
    return BoxStep((_note(diary, word),), (_note(diary, f"not {word}"),), lasting)


def _note(diary: Path, word: str) -> tuple[str, ...]:
    return ("dd", "status=none", "conv=notrunc", "oflag=append", f"of={diary}", f"if={_word(diary, word)}")


def _word(diary: Path, word: str) -> Path:
    path = diary.with_name(word)
    path.write_text(f"{word}\n")
    return path


def made(folder: Path, steps: list[BoxStep]) -> BoxRecord:
    result = BoxRecord(folder / "record.jsonl")
    with result.claim():
        result.begin("print")
        result.make(steps)
        result.finish()
    return result


def test_changes_are_put_back_in_reverse_and_forgotten(tmp_path: Path, diary: Path) -> None:
    result = made(tmp_path, [step(diary, "a"), step(diary, "b")])
    assert result.print_of_changes() == "print"
    assert result.put_back() == []
    assert diary.read_text().split("\n")[:-1] == ["a", "b", "not b", "not a"]
    assert result.print_of_changes() is None
    assert not result.path.exists()
    assert result.put_back() == []


def test_nothing_is_changed_on_top_of_changes(tmp_path: Path, diary: Path) -> None:
    result = made(tmp_path, [step(diary, "a")])
    with pytest.raises(TestbedError, match="records changes already"):
        result.begin("print")


def test_the_interfaces_that_are_changed_are_told_until_they_are_put_back(tmp_path: Path) -> None:
    result = BoxRecord(tmp_path / "record.jsonl")
    assert result.interfaces() is None
    result.begin("print", ["eth1", "eth2"])
    assert result.interfaces() == ["eth1", "eth2"]
    result.path.write_text(result.path.read_text()[:-1])  # cut short
    assert result.interfaces() == []
    assert result.put_back() == []
    assert result.interfaces() is None


def test_two_cannot_change_a_box_at_once(tmp_path: Path) -> None:
    result = BoxRecord(tmp_path / "record.jsonl")
    with result.claim(), pytest.raises(TestbedError, match="another kuijia is at work on it"), result.claim():
        pass
    with result.claim():
        pass


def test_an_interface_is_not_changed_under_two_names_of_a_box(tmp_path: Path) -> None:
    one, other = BoxRecord(tmp_path / "one.jsonl"), BoxRecord(tmp_path / "other.jsonl")
    with one.claim(["eth1", "eth2"]):
        with pytest.raises(TestbedError, match="another kuijia is at work on eth2"), other.claim(["eth3", "eth2"]):
            pass
        with other.claim(["eth3"]):
            pass


def test_putting_back_that_was_killed_is_done_again(
    tmp_path: Path, diary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = made(tmp_path, [step(diary, "a"), step(diary, "b")])

    def killed(command: tuple[str, ...]) -> str:
        if str(_word(diary, "not a")) in command[-1]:
            raise SystemExit
        return run_command(command)

    with monkeypatch.context() as patch:
        patch.setattr(record, "run_command", killed)
        with pytest.raises(SystemExit):
            result.put_back()
    assert result.put_back() == []
    assert diary.read_text().split("\n")[:-1] == ["a", "b", "not b", "not b", "not a"]
    assert not result.path.exists()


def failed(folder: Path, steps: list[BoxStep]) -> BoxRecord:
    """Return a record of steps whose last one failed."""
    result = BoxRecord(folder / "record.jsonl")
    with result.claim():
        result.begin("print")
    with pytest.raises(TestbedError):
        result.make(steps)
    return result


def test_a_change_that_fails_is_undone_as_far_as_it_came(tmp_path: Path, diary: Path) -> None:
    result = failed(tmp_path, [step(diary, "a"), BoxStep((("false",),), (_note(diary, "not b"),))])
    assert result.print_of_changes() is None
    assert result.put_back() == []
    assert diary.read_text().split("\n")[:-1] == ["a", "not b", "not a"]
    assert not result.path.exists()


def test_a_change_that_fails_and_cannot_be_undone_stays_recorded(tmp_path: Path, diary: Path) -> None:
    result = failed(tmp_path, [step(diary, "a"), BoxStep((("false",),), (("ls", str(tmp_path / "gone")),))])
    for _ in range(2):
        (fault,) = result.put_back()
        assert "gone" in fault
    (tmp_path / "gone").touch()
    assert result.put_back() == []
    assert diary.read_text().split("\n")[:-1] == ["a", "not a"]


@pytest.mark.parametrize(
    "words",
    [
        "ip link set dev gone0 down",
        "ethtool -K gone0 gro on",
        "sysctl -q -w net/ipv6/conf/gone0/disable_ipv6=0",
    ],
)
def test_a_change_that_fails_as_the_interface_is_gone_needs_no_undoing(tmp_path: Path, words: str) -> None:
    command = tuple(words.split())
    if find_program(command[0]) is None:
        pytest.skip(f"{command[0]} not found")
    assert failed(tmp_path, [BoxStep((command,), (command,))]).put_back() == []


def test_what_cannot_be_put_back_stays_recorded_alone(tmp_path: Path, diary: Path) -> None:
    stubborn = BoxStep((), (("ls", str(tmp_path / "gone")),))
    result = made(tmp_path, [step(diary, "a"), stubborn, step(diary, "b")])
    (fault,) = result.put_back()
    assert "gone" in fault
    assert diary.read_text().split("\n")[:-1] == ["a", "b", "not b", "not a"]
    (tmp_path / "gone").touch()
    assert result.put_back() == []
    assert diary.read_text().split("\n")[:-1] == ["a", "b", "not b", "not a"]


def test_what_was_done_before_a_bridge_that_stays_is_undone_again_after_it(tmp_path: Path, diary: Path) -> None:
    stubborn = BoxStep((), (("ls", str(tmp_path / "gone")),), lasting=True)
    result = made(tmp_path, [step(diary, "a"), stubborn, step(diary, "b")])
    assert len(result.put_back()) == 1
    (tmp_path / "gone").touch()
    assert result.put_back() == []
    assert diary.read_text().split("\n")[:-1] == ["a", "b", "not b", "not a", "not a"]


def test_a_restart_of_the_box_leaves_only_what_lasts_to_put_back(
    tmp_path: Path, diary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = made(tmp_path, [step(diary, "a"), step(diary, "bridge", lasting=True)])
    monkeypatch.setattr(record, "boot_id", lambda: "another boot")
    assert result.print_of_changes() is None
    assert result.put_back() == []
    assert diary.read_text().split("\n")[:-1] == ["a", "bridge", "not bridge"]


def test_what_was_begun_and_not_changed_is_forgotten(tmp_path: Path) -> None:
    result = BoxRecord(tmp_path / "record.jsonl")
    with result.claim():
        result.begin("print")
    assert result.put_back() == []
    assert not result.path.exists()


def test_a_line_cut_short_stands_for_nothing_done(tmp_path: Path, diary: Path) -> None:
    result = made(tmp_path, [step(diary, "a")])
    with result.path.open("a") as file:
        file.write('{"undo": [["fal')
    assert result.put_back() == []
    assert diary.read_text().split("\n")[:-1] == ["a", "not a"]


@pytest.mark.parametrize("damage", [b"\0\0\0", b"\xff\xfe", b"[1]", b""])
def test_a_damaged_line_is_told_and_keeps_nothing_else_from_being_undone(
    tmp_path: Path, diary: Path, damage: bytes
) -> None:
    result = made(tmp_path, [step(diary, "a"), step(diary, "b"), step(diary, "c")])
    lines = result.path.read_bytes().split(b"\n")
    result.path.write_bytes(b"\n".join([*lines[:3], damage, *lines[4:]]))
    assert result.print_of_changes() is None
    for _ in range(2):
        (fault,) = result.put_back()
        assert fault.startswith(f"{result.path} has unreadable lines")
    assert diary.read_text().split("\n")[:-1] == ["a", "b", "c", "not c", "not a"]


def test_where_a_restart_cannot_be_told_only_what_would_have_outlived_it_is_undone(tmp_path: Path, diary: Path) -> None:
    result = made(tmp_path, [step(diary, "a"), step(diary, "bridge", lasting=True)])
    result.path.write_bytes(b"\0\n" + result.path.read_bytes().split(b"\n", 1)[1])
    assert result.print_of_changes() is None
    (fault,) = result.put_back()
    assert "a restart of the box undoes all but a bridge" in fault
    assert diary.read_text().split("\n")[:-1] == ["a", "bridge", "not bridge"]


def test_an_undoing_that_ends_unexpectedly_is_told_and_keeps_no_other_from_being_done(
    tmp_path: Path, diary: Path
) -> None:
    result = made(tmp_path, [step(diary, "a"), BoxStep((), (("restore-settings", "no JSON"),)), step(diary, "b")])
    (fault,) = result.put_back()
    assert fault.startswith("`restore-settings 'no JSON'` ends with JSONDecodeError: ")
    assert diary.read_text().split("\n")[:-1] == ["a", "b", "not b", "not a"]
