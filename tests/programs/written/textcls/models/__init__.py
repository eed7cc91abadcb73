from .attention import AttentionClassifier
from .layers import AttentionPool, SinusoidalPositions

__all__ = ["AttentionClassifier", "AttentionPool", "SinusoidalPositions"]
