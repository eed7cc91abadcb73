"""The derivatives of torch's operations: read from its own `derivatives.yaml`, made readable, and executed."""
