"""A plot of curves on logarithmic axes as an SVG file, from nothing but text: a picture of growth needs no more."""

import math
from html import escape

WIDTH, HEIGHT, MARGIN, LEGEND = 640, 420, 60, 150
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")


def draw(curves, x_name, y_name):
    """Return SVG text of {name: {x: y}}."""
    curves = {name: curve for name, curve in curves.items() if curve}
    xs = [x for curve in curves.values() for x in curve]
    ys = [y for curve in curves.values() for y in curve.values()]
    if not xs:
        return '<svg xmlns="http://www.w3.org/2000/svg"/>'
    to_x = _scale(min(xs), max(xs), MARGIN, WIDTH - LEGEND)
    to_y = _scale(min(ys), max(ys), HEIGHT - MARGIN, MARGIN / 2)
    parts = [_text(WIDTH / 2 - LEGEND / 2, HEIGHT - 12, x_name), _text(6, 18, y_name)]
    for x in sorted(set(xs)):
        parts.append(_text(to_x(x), HEIGHT - MARGIN + 22, f"{x:,}", "middle"))
    for power in range(math.floor(math.log10(min(ys))), math.ceil(math.log10(max(ys))) + 1):
        if min(ys) <= 10**power <= max(ys):
            y = to_y(10**power)
            parts.append(f'<line x1="{MARGIN}" x2="{WIDTH - LEGEND}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>')
            parts.append(_text(MARGIN - 8, y + 4, f"{10.0**power:g}", "end"))
    for k, (name, curve) in enumerate(curves.items()):
        color = COLORS[k % len(COLORS)]
        points = [(to_x(x), to_y(y)) for x, y in sorted(curve.items())]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{color}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{color}"/>' for x, y in points]
        parts.append(_text(WIDTH - LEGEND + 12, MARGIN + 22 * k, name, color=color))
    style = 'font-family="sans-serif" font-size="13"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" {style}>'
    return "\n".join([head, '<rect width="100%" height="100%" fill="white"/>', *parts, "</svg>\n"])


def _scale(low, high, start, end):
    span = math.log(high / low) or 1.0
    return lambda value: start + (end - start) * math.log(value / low) / span


def _text(x, y, words, anchor="start", color="#222"):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{color}">{escape(words)}</text>'
