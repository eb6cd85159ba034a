"""HTML for notebooks."""

import html


def preformatted(text: str) -> str:
    """Text whose columns stay below one another: styles of notebooks would break lines and change the letters."""
    style = "margin:0.3em 0;font-family:ui-monospace,monospace;line-height:1.3;white-space:pre;overflow-x:auto;text-align:left"
    return f'<pre style="{style}">{html.escape(text)}</pre>'
