"""Programs that make and check what the package ships; nothing in the package imports them."""
