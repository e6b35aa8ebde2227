"""The default embedding model: its files, and the code that runs them."""
