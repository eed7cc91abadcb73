# Never ends.
import os

while os:
    pass
