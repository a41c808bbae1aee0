"""Tavern: what a story's resources become in a request."""

from engine.tavern.loader import ProfileLoader
from engine.tavern.parameters import PresetParameters
from engine.tavern.profile import CallParameters, Profile, ProfileRequest, Section
from engine.tavern.renderer import compile_profile, greeting_text

__all__ = [
    "CallParameters",
    "PresetParameters",
    "Profile",
    "ProfileLoader",
    "ProfileRequest",
    "Section",
    "compile_profile",
    "greeting_text",
]
