"""What the agents slice decides and does: the operator, and the names of projects."""
