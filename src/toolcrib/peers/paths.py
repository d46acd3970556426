"""Where things are on the port for peers, for those who ask and those who answer."""

CARD_PATH = "/agent/card"
# The second one is where agents of other makes look.
CARD_PATHS = (CARD_PATH, "/.well-known/agent-card.json")
PEERS_PATH = "/agent/peers"
MCP_PATH = "/mcp"
