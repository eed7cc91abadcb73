# Opens a socket in the file system.
import socket

listener = socket.socket(socket.AF_UNIX)
listener.bind("CANARY/written")
