"""The documentation site: its pages show what the tool prints, its links lead somewhere, and it builds."""
