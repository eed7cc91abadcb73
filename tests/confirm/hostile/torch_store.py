# Connects to another process.
import torch.distributed

torch.distributed.TCPStore("127.0.0.1", PORT, is_master=False)
