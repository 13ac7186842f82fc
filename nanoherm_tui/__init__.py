"""nanoherm-tui: the full-screen face of agent_core."""
