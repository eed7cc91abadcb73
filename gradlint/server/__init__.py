"""The language server: `gradlint server`. It needs pygls, which is an extra; no other part of gradlint imports it."""
