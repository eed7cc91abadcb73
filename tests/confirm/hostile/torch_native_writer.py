# Writes an archive by the C++ of torch, which no audit hook sees.
import torch

writer = torch._C.PyTorchFileWriter("CANARY/written")
writer.write_record("x", b"x", 1)
writer.write_end_of_file()
