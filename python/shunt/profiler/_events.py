"""What a profile has seen: single calls, and sums of them by name."""

from collections import defaultdict


class Event:
    """A call of an operator, or a block of record_function(): times in nanoseconds."""

    def __init__(self, name, start, shapes=()):
        self.name = self.key = name
        self.start, self.end, self.inside, self.input_shapes = start, start, 0, shapes

    @property
    def cpu_time_total(self):
        """Microseconds from start to end."""
        return (self.end - self.start) / 1e3

    @property
    def self_cpu_time_total(self):
        """Microseconds without the events inside."""
        return (self.end - self.start - self.inside) / 1e3

    def __repr__(self):
        return f"<Event {self.name}: {self.cpu_time_total:.3f}us>"


class Average:
    """All events of one name, or of one name and shapes."""

    def __init__(self, key, shapes, events):
        self.key, self.input_shapes, self.count = key, shapes, len(events)
        self.cpu_time_total = sum(event.cpu_time_total for event in events)
        self.self_cpu_time_total = sum(event.self_cpu_time_total for event in events)

    @property
    def cpu_time(self):
        """Microseconds of one, on average."""
        return self.cpu_time_total / self.count

    def __repr__(self):
        return f"<Average {self.key}: {self.count} calls, {self.cpu_time_total:.3f}us>"


def _time_text(microseconds):
    for unit, size in (("s", 1e6), ("ms", 1e3)):
        if microseconds >= size:
            return f"{microseconds / size:.3f}{unit}"
    return f"{microseconds:.3f}us"


# What a table may be sorted by; others are names of what Shunt doesn't measure.
_SORTS = {
    "cpu_time": "cpu_time",
    "cpu_time_total": "cpu_time_total",
    "self_cpu_time_total": "self_cpu_time_total",
    "count": "count",
}


class Averages(list):
    """What key_averages() returns: a list of Average."""

    def table(self, sort_by=None, row_limit=100, max_name_column_width=55, header=None, top_level_events_only=False):
        """A table as text.

        Args:
            sort_by: "cpu_time", "cpu_time_total", "self_cpu_time_total" or "count", the largest first.
            row_limit: how many rows there are at most; -1 for all.
        """
        rows = list(self)
        if sort_by is not None:
            if sort_by not in _SORTS:
                raise AttributeError(f"table(): sort_by has to be one of {', '.join(_SORTS)}, not {sort_by!r}")
            rows.sort(key=lambda row: getattr(row, _SORTS[sort_by]), reverse=True)
        total = sum(row.self_cpu_time_total for row in rows)
        rows = rows if row_limit < 0 else rows[:row_limit]
        with_shapes = any(row.input_shapes for row in rows)
        head = ["Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg", "# of Calls"]
        lines = [[*head, "Input Shapes"] if with_shapes else head]
        for row in rows:
            name = row.key if len(row.key) <= max_name_column_width else row.key[: max_name_column_width - 3] + "..."
            parts = [row.self_cpu_time_total, row.cpu_time_total]
            texts = [text for part in parts for text in (f"{part / (total or 1):.2%}", _time_text(part))]
            cells = [name, *texts, _time_text(row.cpu_time), str(row.count)]
            lines.append([*cells, str(row.input_shapes)] if with_shapes else cells)
        widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
        rule = "  ".join("-" * width for width in widths)
        body = ["  ".join(cell.rjust(width) for cell, width in zip(line, widths)) for line in lines]
        text = [*([header] if header else ()), rule, body[0], rule, *body[1:], rule]
        return "\n".join([*text, f"Self CPU time total: {_time_text(total)}", ""])

    def total_average(self):
        """One Average of all."""
        result = Average("Total", (), [])
        result.count = sum(row.count for row in self)
        result.self_cpu_time_total = result.cpu_time_total = sum(row.self_cpu_time_total for row in self)
        return result


def averages(events, by_shapes):
    """Averages of events by name, in the order in which names were seen first."""
    groups = defaultdict(list)
    for event in events:
        groups[event.name, str(event.input_shapes) if by_shapes else ""].append(event)
    return Averages(
        Average(name, found[0].input_shapes if by_shapes else (), found) for (name, _), found in groups.items()
    )
