"""A drawing as a page of its own: the picture, a legend, and the leaves in a table."""

from __future__ import annotations

from html import escape

from gradlint.domain.drawing import Drawing, LeafFact
from gradlint.report.drawing.leaves import why
from gradlint.report.drawing.svg import as_svg
from gradlint.report.drawing.words import fate, line, size, title

_PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark }}
body {{ font: 14px/1.5 system-ui, sans-serif; margin: 1.5rem; background: #fff; color: #1b1b1b }}
h1 {{ font-size: 1.5rem; overflow-wrap: anywhere }}
.picture, .leaves {{ overflow: auto }}
.picture {{ max-height: 80vh; border: 1px solid #8888 }}
table {{ border-collapse: collapse; margin-top: 1rem }}
th, td {{ text-align: left; padding: .25rem .75rem; border-bottom: 1px solid #8886 }}
td:first-child {{ font-family: ui-monospace, monospace }}
@media (prefers-color-scheme: dark) {{ body {{ background: #16181c; color: #ececec }} }}
</style>
</head>
<body>
<main>
<h1>{title}</h1>
<p>Arrows run the way that a gradient flows. Thick frame: a backward raises there. Rounded: a leaf, with a solid frame
if it gets a gradient. Dashed: no gradient comes by. Dotted: not certain.</p>
<div class="picture" tabindex="0" role="group" aria-label="picture">
{picture}
</div>
<div class="leaves" tabindex="0" role="group" aria-label="leaves">
<table>
<tr><th>leaf</th><th>size</th><th>made</th><th>gradient</th><th>held by</th><th>why not</th></tr>
{rows}
</table>
</div>
</main>
</body>
</html>"""


def as_page(drawing: Drawing) -> str:
    """Return HTML that needs nothing beside it."""
    rows = "\n".join(_row(drawing, one) for one in drawing.leaves)
    return _PAGE.format(title=escape(title(drawing)), picture=as_svg(drawing), rows=rows)


def _row(drawing: Drawing, leaf: LeafFact) -> str:
    held = ", ".join(leaf.optimizers) or "no optimizer"
    reason = "" if leaf.gets else why(drawing, leaf)
    cells = (leaf.label, size(leaf.shape, leaf.dtype), line(leaf.spot), fate(leaf), held, reason)
    return f"<tr>{''.join(f'<td>{escape(one)}</td>' for one in cells)}</tr>"
