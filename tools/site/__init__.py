"""The documentation site: what MkDocs adds to the pages of `docs/`, which read well without it."""
