"""Recordings and results of experiments are played back, and files that are neither are refused in a line."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

from kuijia.cli.main import main
from kuijia_base.errors import InputError, KuijiaError
from kuijia_base.json_document import ARCHIVE
from testbed.lab.shapes import to_json
from testbed.web.backend import SetClock, SetLink
from testbed.web.experiment_recording import read_results
from testbed.web.recording import FILE_NAME, Recorder, read_recording
from testbed.web.replay_backend import ReplayBackend
from tests.testbed.web.documented import documented_actions
from tests.testbed.web.memory_backend import MemoryBackend


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """Three states at 0.2, 0.4 and 0.6 s, with a cut before the second."""
    backend = MemoryBackend()
    with Recorder(tmp_path) as recorder:
        recorder.lab(json.dumps(to_json(backend.describe())).encode())
        for number in range(3):
            if number == 1:
                backend.act(SetLink("s1~s3", up=False))
                recorder.log(backend.events(0))
            state = to_json(backend.state())
            views = state.pop("views")
            without = json.dumps({**state, "views": []}, separators=(",", ":")).encode()
            recorder.state(without, json.dumps(views).encode())
    return tmp_path


def test_a_recording_is_played_at_its_speed_and_stays_at_its_end(recording: Path) -> None:
    seconds = [0.0]
    backend = ReplayBackend(read_recording(recording), 2.0, lambda: seconds[0])
    shown = []
    for seconds[0] in (0.0, 0.05, 0.1, 0.15, 0.2, 5.0):
        state = backend.state()
        shown.append((state.time, state.views[0].tunnels_dead))
    assert shown == [(0.2, ()), (0.2, ()), (0.4, (16,)), (0.4, (16,)), (0.6, (16,)), (0.6, (16,))]
    state = backend.state()
    assert state.clock is not None
    assert state.clock.paused


def test_the_documentation_lists_its_actions(recording: Path) -> None:
    assert documented_actions("replay") == sorted(ReplayBackend(read_recording(recording)).describe().actions)


def test_log_entries_come_at_their_time(recording: Path) -> None:
    seconds = [0.0]
    backend = ReplayBackend(read_recording(recording), wall=lambda: seconds[0])
    assert [entry.kind for entry in backend.events(0)] == ["cut"]  # at 0.2 s, when the recording begins
    assert backend.events(1) == []


def test_a_recording_can_be_held_wound_back_and_played_again(recording: Path) -> None:
    seconds = [0.0]
    backend = ReplayBackend(read_recording(recording), wall=lambda: seconds[0])
    backend.act(SetClock(time=0.6))
    assert backend.state().time == 0.6
    backend.act(SetClock(time=0.4, paused=True))
    seconds[0] = 9.0
    assert backend.state().time == 0.4
    backend.act(SetClock(time=0.6, paused=False))
    backend.act(SetClock(paused=False))
    assert backend.state().time == 0.2
    with pytest.raises(InputError, match=r"expected a time of the recording, 0.2 to 0.6"):
        backend.act(SetClock(time=7.0))
    with pytest.raises(KuijiaError, match="it only shows"):
        backend.act(SetLink("s1~s3", up=False))


def test_a_recording_that_was_cut_off_is_shown_as_far_as_it_goes(recording: Path) -> None:
    path = recording / FILE_NAME
    path.write_bytes(path.read_bytes()[:-20])
    assert len(read_recording(recording).moments) == 2


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "it has no description and state"),
        ("nothing\n", ":1: the line is not JSON"),
        ('{"x": 1}\n', ":1: the line is not part of a recording"),
        ('{"state": {}}\n', ":1: the state has no time"),
        ('{"lab": {}}\n', ":1"),
        ('{"again": {"time": 1}}\n', "it has no description and state"),
    ],
)
def test_files_that_are_no_recordings_are_refused(tmp_path: Path, text: str, complaint: str) -> None:
    (tmp_path / FILE_NAME).write_text(text)
    with pytest.raises(InputError, match=complaint):
        read_recording(tmp_path)


def test_a_recording_is_not_overwritten(recording: Path) -> None:
    with pytest.raises(InputError, match="it has a recording"):
        Recorder(recording)


@pytest.fixture(scope="module")
def simulated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("table2")
    shorter = ("--warmup-seconds", "1", "--before-seconds", "2", "--settle-seconds", "3", "--after-seconds", "6")
    assert main(["run", "table2", "--backend", "packet", *shorter, "-o", str(folder)]) == 0
    return folder


def test_results_of_an_experiment_show_schemes_side_by_side(simulated: Path) -> None:
    recorded = read_results(simulated)
    (_, description), *others = recorded.descriptions
    assert not others
    assert description.schemes == ("kuijia", "rescaling")
    assert {node.name for node in description.nodes} == {"s1", "s2", "s3", "s4"}
    before, after = recorded.states(10), recorded.states(len(recorded.moments) - 1)
    assert all(link.up for view in before.views for link in view.links)
    assert [link.id for link in after.views[0].links if not link.up] == ["s2~s4"]
    kuijia, rescaling = ({flow.id: flow for flow in view.flows} for view in after.views)
    assert kuijia["f1"].role == "victim"
    assert kuijia["f3"].goodput > 750 > rescaling["f3"].goodput
    assert [entry.view for entry in recorded.log] == ["kuijia", "rescaling"]


def test_packed_results_are_shown_as_those_of_a_folder(simulated: Path, tmp_path: Path) -> None:
    with tarfile.open(tmp_path / ARCHIVE, "w:xz") as archive:
        for path in simulated.glob("*.json"):
            archive.add(path, path.name)
    packed, loose = read_results(tmp_path), read_results(simulated)
    assert (packed.descriptions, packed.moments, packed.log) == (loose.descriptions, loose.moments, loose.log)
    assert packed.states(len(packed.moments) - 1) == loose.states(len(loose.moments) - 1)


def test_results_without_goodput_over_time_are_refused(simulated: Path, tmp_path: Path) -> None:
    timeless = tmp_path / "flow"
    assert main(["run", "table2", "--backend", "flow", "-o", str(timeless)]) == 0
    for folder in (timeless, tmp_path):
        with pytest.raises(InputError, match="no file has goodput over time"):
            read_results(folder)
    good = json.loads((simulated / "table2-kuijia-1.json").read_text())
    del good["failure"]
    (tmp_path / "x.json").write_text(json.dumps(good))
    with pytest.raises(InputError, match="KeyError: 'failure'"):
        read_results(tmp_path)
