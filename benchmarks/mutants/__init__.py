"""Single human mistakes, put into real training scripts."""
