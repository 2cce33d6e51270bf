"""Timer: how long statements take, by timeit."""

import statistics
import timeit as _timeit

__all__ = ["Measurement", "Timer", "timer"]

timer = _timeit.default_timer


class Measurement:
    """What a Timer measured: raw_times of so many runs each, and times, of one run, in seconds."""

    def __init__(self, number_per_run, raw_times, label=None, sub_label=None, description=None, stmt="pass"):
        self.number_per_run, self.raw_times = number_per_run, list(raw_times)
        self.label, self.sub_label, self.description, self.stmt = label, sub_label, description, stmt

    @property
    def times(self):
        """Seconds of one run, by measurement."""
        return [t / self.number_per_run for t in self.raw_times]

    @property
    def mean(self):
        """The mean of the times."""
        return statistics.fmean(self.times)

    @property
    def median(self):
        """The median of the times."""
        return statistics.median(self.times)

    @property
    def iqr(self):
        """How far the times' quartiles are apart."""
        times = sorted(self.times)
        if len(times) < 2:
            return 0.0
        low, _, high = statistics.quantiles(times, n=4, method="inclusive")
        return high - low

    @property
    def title(self):
        """What was measured."""
        return ": ".join(part for part in (self.label or self.stmt, self.sub_label) if part)

    def __repr__(self):
        scale, unit = next((s, u) for s, u in ((1, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))
                           if self.median >= s or u == "ns")
        return (f"<{type(self).__name__} {self.title}\n  {self.description or ''}\n  median {self.median / scale:.2f} "
                f"{unit}, IQR {self.iqr / scale:.2f} {unit}\n  {len(self.raw_times)} measurements, "
                f"{self.number_per_run} runs each>")


class Timer:
    """Measures a statement of Python's.

    Args:
        stmt, setup, timer, globals: as timeit.Timer's.
        global_setup: run once, before everything else.
        label, sub_label, description: of the measurements.
        num_threads: how many threads operators use meanwhile.
    """

    def __init__(self, stmt="pass", setup="pass", global_setup="", timer=timer, globals=None, label=None,
                 sub_label=None, description=None, env=None, num_threads=1, language="python"):
        if language not in ("python", "py"):
            raise NotImplementedError(f"Timer(): language: expected 'python', got {language!r}")
        names = dict(globals or {})
        if global_setup:
            exec(global_setup, names)
        self._timer = _timeit.Timer(stmt, setup, timer, names)
        self._num_threads = num_threads
        self._about = {"label": label, "sub_label": sub_label, "description": description, "stmt": stmt}

    def _run(self, number):
        import shunt
        before = shunt.get_num_threads()
        shunt.set_num_threads(self._num_threads)
        try:
            return self._timer.timeit(max(number, 1))
        finally:
            shunt.set_num_threads(before)

    def timeit(self, number=1000000):
        """Runs the statement so many times, after some that aren't counted; returns a Measurement."""
        self._run(max(number // 100, 2))
        return Measurement(number, [self._run(number)], **self._about)

    def repeat(self, repeat=-1, number=-1):
        """Not implemented (NotImplementedError): timeit() and blocked_autorange() measure."""
        raise NotImplementedError("Timer.repeat(): use timeit() or blocked_autorange()")

    def _block(self, min_run_time):
        number = 1
        while self._run(number) < max(min_run_time / 1000, 1e-4):
            number *= 10
        return number

    def blocked_autorange(self, callback=None, min_run_time=0.2):
        """Measures blocks of runs, so long that the clock doesn't matter, for at least `min_run_time` seconds.

        callback: called with the runs and seconds of each block.
        """
        number, raw, spent = self._block(min_run_time), [], 0.0
        while spent < min_run_time:
            raw.append(self._run(number))
            spent += raw[-1]
            if callback is not None:
                callback(number, raw[-1])
        return Measurement(number, raw, **self._about)

    def adaptive_autorange(self, threshold=0.1, *, min_run_time=0.01, max_run_time=10.0, callback=None):
        """blocked_autorange() until the interquartile range is below `threshold` times the median, or for
        `max_run_time` seconds."""
        number, raw, spent = self._block(min_run_time), [], 0.0
        while True:
            raw.append(self._run(number))
            spent += raw[-1]
            if callback is not None:
                callback(number, raw[-1])
            result = Measurement(number, raw, **self._about)
            if spent >= max_run_time or spent >= min_run_time and len(raw) >= 4 and \
                    result.iqr < threshold * result.median:
                return result
