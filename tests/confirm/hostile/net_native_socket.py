# Connects by the module below `socket`.
import _socket

pipe = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM)
pipe.connect(("127.0.0.1", PORT))
pipe.send(b"x")
