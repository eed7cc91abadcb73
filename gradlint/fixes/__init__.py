"""Fixes: from what a rule would write, in syntax nodes, to edits of the text, to a file written anew."""
