for y in loader:scaler.scale(__name__).backward()
