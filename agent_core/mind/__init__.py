"""One turn: what the model is sent, the loop between it and the tools, and keeping the whole within its window."""
