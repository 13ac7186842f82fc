"""What a command may see and touch: its environment, and the walls around it."""
