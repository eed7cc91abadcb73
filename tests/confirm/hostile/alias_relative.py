# A module of the checked program.
from . import evil

evil.run()
