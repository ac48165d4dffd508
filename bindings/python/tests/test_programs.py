# SPDX-License-Identifier: Apache-2.0
"""The scripts of bench/programs: one runs whole with NumPy, all compile, and the comparison of runs finds what differs."""

import pathlib
import sys

import pytest

PROGRAMS = pathlib.Path(__file__).resolve().parents[3] / "bench/programs"
sys.path.insert(0, str(PROGRAMS))
import run_all
import table

sys.path.remove(str(PROGRAMS))


def line(way, losses, tokens=(1, 2, 3)):
    parts = {"losses": losses, "later losses": [len(way)], "tokens": list(tokens)}
    return {"way": way, "program": "A", "case": "b", "mode": "eager", "ms": 2.0, "wall_ms": 2.0, "device": "d", "bounds": {"losses": 1e-3},
            "computed": {name: {"digest": str(values), "values": values} for name, values in parts.items()}}


@pytest.mark.parametrize("losses, exceeds", [([4.0, 3.0], False), ([4.004, 3.0], False), ([4.0, 3.01], True), ([float("nan"), 3.0], True), ([4.0], True)])
def test_losses_are_compared(losses, exceeds):
    assert run_all.exceeds(run_all.compare(line("with", losses), line("plain", [4.0, 3.0]))) == exceeds


def test_tokens_are_counted_to_the_first_that_differs():
    row = run_all.compare(line("with", [4.0, 3.0], (1, 7, 3)), line("plain", [4.0, 3.0]))
    assert row["tokens"] == "1 of 3" and row["same_bits"] == "no"


def run(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["run_all.py", *map(str, arguments)])
    return run_all.main()


def test_a_program_runs_whole(tmp_path, monkeypatch):
    path = tmp_path / "programs.csv"
    assert run(monkeypatch, "--tiny", "--only", "small_matrices", "--ways", "plain again", "torch", "--csv", path) == 0
    cases = table.read(path)
    assert len(cases) == 2 and len(list(table.lines(cases))) == 4
    for ways in cases.values():
        assert set(ways) == {"plain", "plain again"} and ways["plain again"]["same_bits"] == "yes"


def test_a_run_that_fails_is_named(tmp_path, monkeypatch, capsys):
    assert run(monkeypatch, "--tiny", "--only", "small_matrices", "--ways", "with", "--tilejit", "/bin/false", "--csv", tmp_path / "programs.csv") == 1
    assert "small_matrices, with: failed" in capsys.readouterr().err


@pytest.mark.parametrize("program", run_all.PROGRAMS)
def test_programs_compile(program):
    script = PROGRAMS / f"{program}.py"
    compile(script.read_text(), str(script), "exec")
