"""The commands: one module a noun, thin. What they do is done by `bot` and `engine`."""
