# Maps a file into memory and writes to it.
import mmap
import os

memory = mmap.mmap(os.open("CANARY/secret.txt", os.O_RDWR), 4)
memory[0] = 0
