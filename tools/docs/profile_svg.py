"""profile_svg.py TRACE: prints an SVG of a trace of training that `shunt profile --trace` wrote.

It shows the fastest step, which nothing else on the machine has held up, and the operators with the largest shares.
"""

import collections
import html
import json
import sys
import zlib

WIDTH, ROW, LEFT, TOP = 960, 22, 10, 34
SHARES = 8


def events_of(trace):
    """The calls of the thread that has most of them, by their begin."""
    threads = collections.defaultdict(list)
    for event in trace["traceEvents"]:
        if event["ph"] == "X":
            threads[event["tid"]].append(event)
    return sorted(max(threads.values(), key=len), key=lambda event: (event["ts"], -event["dur"]))


def with_depth(events):
    """(event, depth): how many calls it runs inside of."""
    inside = []
    for event in events:
        while inside and inside[-1] <= event["ts"]:
            inside.pop()
        yield event, len(inside)
        inside.append(event["ts"] + event["dur"])


def steps_of(calls):
    """The calls of each step. All call the same operators, most of these once; the first of them gives their length."""
    outer = [i for i, (_, depth) in enumerate(calls) if depth == 0]
    names = [calls[i][0]["name"] for i in outer]
    counts = collections.Counter(names)
    once, _ = collections.Counter(counts.values()).most_common(1)[0]
    mark = next(name for name in names if counts[name] == once)
    marks = [i for i, name in enumerate(names) if name == mark]
    before = 0  # how many a step calls before that one
    while before < marks[0] and names[marks[0] - before - 1] == names[marks[1] - before - 1]:
        before += 1
    begins = [outer[mark - before] for mark in marks]
    return [calls[begin:end] for begin, end in zip(begins, begins[1:])][len(marks) // 2:]  # the first ones differ


def length(step):
    return step[-1][0]["ts"] + step[-1][0]["dur"] - step[0][0]["ts"]


def colour(name):
    return f"hsl({zlib.crc32(name.encode()) % 360}, 55%, 72%)"


def self_times(calls):
    """Time by name, without that of the calls inside."""
    times, inside = collections.Counter(), []
    for event, depth in calls:
        times[event["name"]] += event["dur"]
        del inside[depth:]
        if inside:
            times[inside[-1]["name"]] -= event["dur"]
        inside.append(event)
    return times


def text(x, y, words, size=11, anchor="start"):
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}">{html.escape(words)}</text>'


def bar(event, depth, begin, scale):
    x, width, y = LEFT + (event["ts"] - begin) * scale, max(event["dur"] * scale, 0.5), TOP + depth * ROW
    name = event["name"].removeprefix("aten::")
    label = text(x + 3, y + 14, name) if width > 7 * len(name) + 6 else ""
    title = f"{event['name']}, {event['dur']:.1f} us"
    return (f'<g><title>{html.escape(title)}</title><rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{ROW - 2}" '
            f'fill="{colour(event["name"])}"/>{label}</g>')


def shares(calls, y):
    times = self_times(calls)
    whole = sum(times.values())
    for i, (name, time) in enumerate(times.most_common(SHARES)):
        width = 500 * time / whole
        yield text(LEFT + 190, y + i * 18 + 12, name.removeprefix("aten::"), anchor="end")
        yield f'<rect x="{LEFT + 200}" y="{y + i * 18}" width="{width:.1f}" height="15" fill="{colour(name)}"/>'
        yield text(LEFT + 206 + width, y + i * 18 + 12, f"{100 * time / whole:.1f} %, {time / 1000:.2f} ms")


def draw(trace):
    calls = list(with_depth(events_of(trace)))
    step = min(steps_of(calls), key=length)
    begin, scale = step[0][0]["ts"], (WIDTH - 2 * LEFT) / length(step)
    bottom = TOP + ROW * (1 + max(depth for _, depth in step)) + 30
    title = f"one training step: {length(step):.0f} us, {len(step)} calls of operators, interpreted"
    parts = [text(LEFT, 20, title, 13)]
    parts += [bar(event, depth, begin, scale) for event, depth in step]
    parts.append(text(LEFT, bottom, "the whole program: time of operators, without that of those that they call", 13))
    parts += shares(calls, bottom + 10)
    body = "\n".join(parts)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{bottom + 20 + 18 * SHARES}" '
            f'font-family="sans-serif">\n<rect width="100%" height="100%" fill="white"/>\n{body}\n</svg>')


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        print(draw(json.load(file)))
