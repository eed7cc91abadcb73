"""Rules, detectors and models of a house, from packages that are installed beside gradlint."""
