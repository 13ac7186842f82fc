"""Sub-agents: what they are (definitions), how they run beside each other (gate, board), and a run of one (run)."""
