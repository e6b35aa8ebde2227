"""What the lifecycle slice decides and does; tools and the worker call these."""
