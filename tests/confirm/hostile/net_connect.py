# Connects to a socket.
import socket

socket.create_connection(("127.0.0.1", PORT)).send(b"x")
