# All names of a module.
from os import *

remove("CANARY/secret.txt")
