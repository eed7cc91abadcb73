"""What the interpreter knows of Python's builtins, and of the parts of its library that programs around torch use."""
