"""The warning where a schedule goes on before the optimizer has made a step."""

import copy
import warnings

import shunt
from shunt.optim import lr_scheduler as schedules

DETECTED = ("Detected call of `lr_scheduler.step()` while `optimizer.step()` has not been called yet: the first learning "
            "rate of the schedule is never used. Call optimizer.step() first.")


def optimizer(kind=shunt.optim.SGD):
    return kind([shunt.nn.Parameter(shunt.ones(1))], lr=0.1)


def warned(*steps):
    """The warnings of calls, each as text and file."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for step in steps:
            step()
    return [(str(w.message), w.filename) for w in caught]


def test_a_schedule_that_goes_first_is_warned_of_once():
    o = optimizer()
    schedule = schedules.StepLR(o, 1)
    assert warned(schedule.step, schedule.step) == [(DETECTED, __file__)]
    assert warned(o.step, schedule.step, schedules.StepLR(o, 1).step) == []


def test_the_right_order():
    for kind in (shunt.optim.SGD, shunt.optim.Adam):
        o = optimizer(kind)
        schedule = schedules.StepLR(o, 1)
        assert warned(o.step, schedule.step, schedule.step) == []


def test_two_schedules_of_one_optimizer():
    o = optimizer()
    both = warned(lambda: schedules.ChainedScheduler([schedules.LinearLR(o), schedules.StepLR(o, 1)]))
    assert both == []
    chained = schedules.ChainedScheduler([schedules.LinearLR(o), schedules.StepLR(o, 1)])
    assert [text for text, _ in warned(chained.step, chained.step)] == [DETECTED]


def test_schedules_one_after_the_other():
    o, made = optimizer(), []
    assert warned(lambda: made.append(
        schedules.SequentialLR(o, [schedules.LinearLR(o), schedules.StepLR(o, 1)], [2]))) == []
    assert [text for text, _ in warned(made[0].step)] == [DETECTED]
    o = optimizer()
    schedule = schedules.SequentialLR(o, [schedules.LinearLR(o), schedules.StepLR(o, 1)], [2])
    assert warned(o.step, schedule.step) == []


def test_an_optimizer_that_goes_on():
    o = optimizer(shunt.optim.Adam)
    o.param_groups[0]["params"][0].sum().backward()
    o.step()
    assert warned(schedules.StepLR(o, 1).step) == []
    resumed = optimizer(shunt.optim.Adam)
    resumed.load_state_dict(copy.deepcopy(o.state_dict()))
    assert warned(schedules.StepLR(resumed, 1).step) == []


def test_compiled_steps_count():
    o = optimizer()
    schedule = schedules.StepLR(o, 1)
    assert warned(shunt.compile(lambda: o.step()), schedule.step) == []
