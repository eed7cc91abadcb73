# Never ends, and takes no time of the processor.
import time

time.sleep(1e6)
