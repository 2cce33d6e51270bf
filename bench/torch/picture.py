"""Draws the table as SVG, as bench/plot does: a bar's length is its time over eager's, its label the time itself."""

from __future__ import annotations

from html import escape

WAYS = {"eager": ("eager", "#cfcfcf", "#777777"), "inductor": ("torch.compile", "#e9c46a", "#8a6d1f"),
        "plain": ("replayed by boxed calls", "#8fbbe8", "#5b87b3"), "exact": ("captured, exact", "#1a5fb4", "#1a5fb4"),
        "fast": ("captured, fast", "#26734d", "#26734d")}
_BAR, _LABELS, _SCALE, _MARGIN, _TOP = 10, 330, 330, 30, 88


def _text(x: float, y: float, size: float, attributes: str, content: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" {attributes}>{content}</text>\n'


def _duration(us: float) -> str:
    return f"{us / 1000:.1f} ms" if us >= 10_000 else f"{us:.0f} µs" if us >= 100 else f"{us:.1f} µs"


def draw(about: str, rows: list[dict]) -> str:
    body, y = "", float(_TOP)
    for row in rows:
        ways = [w for w in WAYS if w in row["us"]]
        middle = y + len(ways) * (_BAR + 1) / 2 + 4
        body += _text(_MARGIN + _LABELS - 10, middle, 13, 'text-anchor="end" fill="#222"', escape(row["title"]))
        for way in ways:
            _, colour, ink = WAYS[way]
            # What takes much longer than eager is cut off; its label says how long.
            length = min(1.6, row["us"][way] / row["us"]["eager"]) * _SCALE
            body += f'<rect x="{_MARGIN + _LABELS}" y="{y:.1f}" width="{length:.1f}" height="{_BAR}" fill="{colour}"/>\n'
            label = _duration(row["us"][way]) + (f'  ({row["ratio"][way]:.1f}x)' if way in row["ratio"] else "")
            weight = ' font-weight="600"' if way in ("exact", "fast") else ""
            body += _text(_MARGIN + _LABELS + length + 5, y + _BAR - 1.2, 9.5, f'fill="{ink}"{weight}', label)
            y += _BAR + 1
        y += 11
    shown = [w for w in WAYS if any(w in row["us"] for row in rows)]
    legend = "".join(f'<tspan fill="{WAYS[w][2]}" font-weight="600">{WAYS[w][0]}</tspan>   ' for w in shown)
    width, height = _MARGIN * 2 + _LABELS + int(1.6 * _SCALE) + 90, y + 40
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height:.0f}" '
            'font-family="Inter, Helvetica Neue, Helvetica, Arial, sans-serif">\n<rect width="100%" height="100%" fill="#ffffff"/>\n'
            + _text(_MARGIN, 38, 20, 'font-weight="600" fill="#111"', "What a step of a PyTorch program costs, captured")
            + _text(_MARGIN, 62, 13, 'xml:space="preserve" fill="#444"',
                    legend + '<tspan fill="#777">bars: time relative to eager’s</tspan>')
            + body + _text(_MARGIN, height - 16, 10.5, 'fill="#888"', escape(about)) + "</svg>\n")
