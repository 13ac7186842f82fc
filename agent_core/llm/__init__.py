"""Model servers: who they are (providers, discover), how they are asked and understood (client and what it uses)."""
