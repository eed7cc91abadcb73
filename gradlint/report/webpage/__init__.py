"""The pieces of the `html` format: findings as articles, source with its marks, the style and the script."""
