"""The language server, end to end: a client of pytest-lsp speaks with `gradlint server`."""
