from .agent import PolicyGradientAgent
from .memory import Memory
