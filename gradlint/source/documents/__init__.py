"""Documents that hold Python: notebooks, Markdown, reStructuredText. Their code is joined to programs and back."""
