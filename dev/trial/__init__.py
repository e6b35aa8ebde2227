"""The trial that `./try` runs: a world of coding memories, written, corrected and asked about over MCP."""
