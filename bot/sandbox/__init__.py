"""The sandbox: a Discord of one's own on loopback, the page that shows it, and the bot inside.

`World` holds what exists, `WireDiscord` serves it to discord.py, `Human` acts in it as a person.
"""
