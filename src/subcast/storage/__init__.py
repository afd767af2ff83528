"""Files and folders that appear whole or not at all; everything saved goes through here."""
