"""A drawing of a tape in each of the formats of `gradlint graph`, and its leaves as `gradlint leaves` lists them."""
