"""The MCP client: both eras of the protocol, three transports (spec by revision: protocol.py)."""
