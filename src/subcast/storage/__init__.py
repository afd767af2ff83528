"""Atomic files and folders: every save of the package goes through here, and is written completely or not at all."""
