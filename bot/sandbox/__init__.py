"""The sandbox: a Discord of one's own on loopback, the page that shows it, and the bot inside.

From the ground up: `limits` are Discord's rules, `world` is what exists and happens under them, `wire`
serves it to discord.py. `Human` acts in it as a person; `page` shows it; `launcher` runs it all.
"""
