"""How bench/instructions compares counts with its record. scripts/check counts."""

import sys

import pytest
from daemon_help import SOURCE

sys.path.insert(0, str(SOURCE / "bench"))
import callgrind  # noqa: E402
from workloads import WORKLOADS  # noqa: E402

NAMES = [workload.__name__ for workload in WORKLOADS]


@pytest.fixture
def compare(tmp_path, monkeypatch):
    """The exit status for counts beside a record of 1000 for each workload."""
    monkeypatch.setattr(callgrind, "RECORD", str(tmp_path / "instructions.txt"))
    monkeypatch.setattr(callgrind, "tools", lambda: "a compiler")

    def compare(*counts, recorded=None):
        text = callgrind.format_record(recorded or dict.fromkeys(NAMES, 1000))
        (tmp_path / "instructions.txt").write_text(text)
        left = [{**dict.fromkeys(NAMES, 1000), **some} for some in counts]
        return callgrind.compare(lambda: left.pop(0) if len(left) > 1 else left[0])

    return compare


@pytest.mark.parametrize("name", NAMES)
def test_more_than_recorded_fails(compare, name):
    assert compare({name: 1050}) == 0
    assert compare({name: 1051}) == 1


def test_the_smallest_of_three_counts(compare):
    """A busy machine makes berthd's turns shorter, and so more."""
    assert compare({"pair": 1100}, {"pair": 1060, "job": 1200}, {"pair": 1040}) == 0
    assert compare({"pair": 1100}, {"pair": 1060}, {"pair": 1051}, {"pair": 1000}) == 1


def test_fewer_pass(compare, capsys):
    assert compare({"pair": 900}) == 0
    assert "record" in capsys.readouterr().out


def test_what_is_not_recorded_fails(compare):
    assert compare({}, recorded={"pair": 1000}) == 1


def test_each_workload_is_recorded():
    with open(callgrind.RECORD, encoding="utf-8") as file:
        assert sorted(callgrind.parse_record(file.read())) == sorted(NAMES)
