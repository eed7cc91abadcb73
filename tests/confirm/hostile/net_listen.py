# Listens for others.
import socket

listener = socket.socket()
listener.bind(("0.0.0.0", 0))
listener.listen()
listener.accept()
