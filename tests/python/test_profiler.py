"""profile: which operators a block calls, sums, tables, schedules."""

import gzip
import json

import pytest

import shunt
from shunt.profiler import ProfilerAction, ProfilerActivity, profile, record_function, schedule


def counts(seen):
    return {row.key: row.count for row in seen.key_averages()}


def test_operators_are_counted_and_timed():
    x, w = shunt.randn(4, 4), shunt.randn(4, 4, requires_grad=True)
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as seen:
        with record_function("mine"):
            y = (x @ w).relu()
        y.sum().backward()
    x.exp()
    found = counts(seen)
    assert (
        found["mine"] == 1
        and found["aten::relu"] == 1
        and found["aten::threshold_backward"] == 1
        and "aten::exp" not in found
    )
    assert found["aten::mm"] >= 2
    mine = next(event for event in seen.events() if event.name == "mine")
    inside = [e for e in seen.events() if mine.start <= e.start and e.end <= mine.end and e is not mine]
    assert {e.name for e in inside} >= {"aten::mm", "aten::relu"}
    assert mine.cpu_time_total == pytest.approx(mine.self_cpu_time_total + sum(e.cpu_time_total for e in inside))
    by_shape = {row.key: row.input_shapes for row in seen.key_averages(group_by_input_shape=True)}
    assert by_shape["aten::relu"] == [[4, 4]]


def test_a_slow_operator_takes_long():
    large, small = shunt.ones(400, 400), shunt.ones(2, 2)
    with profile() as seen:
        for _ in range(5):
            small.exp()
            large @ large
    # The shortest, as another process may have had the CPU during the others.
    shortest = {name: min(e.cpu_time_total for e in seen.events() if e.name == name) for name in ("aten::mm", "aten::exp")}
    assert shortest["aten::mm"] > shortest["aten::exp"] > 0


def test_tables():
    with profile() as seen:
        for _ in range(3):
            shunt.ones(2).exp()
    text = seen.key_averages().table(sort_by="count", row_limit=5)
    row = next(line for line in text.splitlines() if "aten::exp" in line).split()
    assert row[0] == "aten::exp" and row[-1] == "3"
    assert "Self CPU time total: " in text and "# of Calls" in text
    assert len(seen.key_averages().table(row_limit=1).splitlines()) == 6
    assert seen.key_averages().total_average().count == sum(row.count for row in seen.key_averages())
    with pytest.raises(AttributeError, match="sort_by"):
        seen.key_averages().table(sort_by="cuda_time")


def test_schedules():
    act = schedule(wait=1, warmup=1, active=2, repeat=2, skip_first=1)
    names = [act(i).name for i in range(11)]
    assert (
        names
        == ["NONE", "NONE", "WARMUP", "RECORD", "RECORD_AND_SAVE"]
        + ["NONE", "WARMUP", "RECORD", "RECORD_AND_SAVE"]
        + ["NONE"] * 2
    )
    saved = []
    with profile(
        schedule=schedule(wait=1, warmup=0, active=1, repeat=2), on_trace_ready=lambda p: saved.append(counts(p))
    ) as seen:
        for i in range(5):
            for _ in range(i):
                shunt.ones(1).exp()
            seen.step()
    assert [found["aten::exp"] for found in saved] == [1, 3]
    assert ProfilerAction.NONE.value == 0


def test_blocks_without_a_profile_and_functions():
    with record_function("nobody looks"):
        pass

    @record_function("named")
    def f():
        return shunt.ones(1).exp()

    with profile() as seen:
        f()
        f()
    assert counts(seen)["named"] == 2
    with shunt.autograd.profiler.profile(enabled=False) as nothing:
        f()
    assert nothing.events() == []


def test_an_exception_ends_the_events_it_goes_through():
    with profile() as seen:
        with pytest.raises(RuntimeError):
            with record_function("outer"):
                shunt.mm(shunt.ones(2, 2), shunt.ones(3, 3))
        shunt.ones(1).exp()
    outer, exp = (next(e for e in seen.events() if e.name == name) for name in ("outer", "aten::exp"))
    assert outer.end <= exp.start


def test_a_trace_is_written(tmp_path):
    with profile() as seen:
        shunt.ones(1).exp()
    seen.export_chrome_trace(str(tmp_path / "trace.json"))
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert "aten::exp" in [event["name"] for event in events]


@pytest.mark.parametrize("use_gzip", [False, True])
def test_traces_for_tensorboard(tmp_path, use_gzip):
    handler = shunt.profiler.tensorboard_trace_handler(str(tmp_path / "new"), "worker", use_gzip)
    with shunt.profiler.profile(on_trace_ready=handler) as profile:
        shunt.ones(2) + 1
    (path,) = (tmp_path / "new").iterdir()
    assert path.name.startswith("worker.") and path.name.endswith(".pt.trace.json" + (".gz" if use_gzip else ""))
    with (gzip.open if use_gzip else open)(path, "rb") as file:
        assert any(event["name"] == "aten::add" for event in json.load(file)["traceEvents"])
    assert profile.total_average().count == len(profile.events())
