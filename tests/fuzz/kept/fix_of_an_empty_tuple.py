(torch())
def __init__():
 self={((''.format([])for f in nn.ModuleList(1j,()))):f}
 while():s(create_graph(functools(([]is s))(()).device))