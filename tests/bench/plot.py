"""Plots of the sweep as SVG: two panels side by side, readable on a light and on a dark page."""
import math

WIDTH, HEIGHT, LEFT, TOP, BOTTOM, GAP = 360, 230, 52, 34, 40, 24
COLOURS = ["#2f7ed8", "#d9730d", "#2e9e4f"]
STYLE = """text{font:12px system-ui,sans-serif;fill:#777}.t{font-weight:600}.g{stroke:#8884;stroke-width:1}
polyline{fill:none;stroke-width:2}"""


def _ticks(low, high):
    """1, 2 and 5 of each power of ten, or the powers alone where there are many."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1, 2, 5) if len(powers) < 4 else (1,)
    return [s * 10.0**p for p in powers for s in steps if low <= s * 10.0**p <= high * 1.0001]


def _text(value):
    return f"{value:g}" if value < 1000 else f"{value:,.0f}"


class Panel:
    """Lines over one axis, both logarithmic."""

    def __init__(self, x0, title, x_title, lines):
        self.x0, self.title, self.x_title, self.lines = x0, title, x_title, lines
        xs = [x for _, points in lines for x, _ in points]
        ys = [y for _, points in lines for _, y in points]
        self.x_low, self.x_high = min(xs), max(xs)
        margin = 1.5 if max(ys) > 2 * min(ys) else 3
        self.y_low, self.y_high = min(ys) / margin, max(ys) * margin

    def _x(self, x):
        share = math.log(x / self.x_low) / math.log(self.x_high / self.x_low)
        return self.x0 + LEFT + share * (WIDTH - LEFT - GAP)

    def _y(self, y):
        share = math.log(y / self.y_low) / math.log(self.y_high / self.y_low)
        return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)

    def svg(self):
        out = [f'<text class="t" x="{self.x0 + LEFT}" y="16">{self.title}</text>',
               f'<text x="{self.x0 + WIDTH - GAP}" y="{HEIGHT - 6}" text-anchor="end">{self.x_title}</text>']
        for y in _ticks(self.y_low, self.y_high):
            out.append(f'<line class="g" x1="{self.x0 + LEFT}" x2="{self.x0 + WIDTH - GAP}" y1="{self._y(y):.1f}" '
                       f'y2="{self._y(y):.1f}"/><text x="{self.x0 + LEFT - 6}" y="{self._y(y) + 4:.1f}" '
                       f'text-anchor="end">{_text(y)}</text>')
        for x in sorted({x for _, points in self.lines for x, _ in points}):
            out.append(f'<text x="{self._x(x):.1f}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{_text(x)}</text>')
        for i, (name, points) in enumerate(self.lines):
            at = " ".join(f"{self._x(x):.1f},{self._y(y):.1f}" for x, y in points)
            out.append(f'<polyline points="{at}" stroke="{COLOURS[i]}"/>')
            out += [f'<circle cx="{self._x(x):.1f}" cy="{self._y(y):.1f}" r="3" fill="{COLOURS[i]}"/>'
                    for x, y in points]
            out.append(f'<rect x="{self.x0 + LEFT + 6 + i * 112}" y="23" width="10" height="4" fill="{COLOURS[i]}"/>'
                       f'<text x="{self.x0 + LEFT + 20 + i * 112}" y="30">{name}</text>')
        return "\n".join(out)


def plot(points, over, x_title):
    """The SVG's text for the points of one sweep, sorted by what it goes over."""
    points = sorted(points, key=lambda p: p[over])
    line = lambda key: [(p[over], p[key]) for p in points]  # noqa: E731
    panels = [Panel(0, "seconds", x_title, [("newer version", line("handover_s")), ("TERM", line("term_s")),
                                            ("start", line("alone_s"))]),
              Panel(WIDTH, "resident memory, MiB", x_title, [("leader", line("leader_mib")),
                                                             ("follower", line("follower_mib"))])]
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {2 * WIDTH} {HEIGHT}" width="{2 * WIDTH}">\n'
            f"<style>{STYLE}</style>\n" + "\n".join(p.svg() for p in panels) + "\n</svg>\n")
