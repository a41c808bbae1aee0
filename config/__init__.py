"""Data that ships with the bot: default settings, message catalogues, samples. No code."""
