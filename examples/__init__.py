"""Programs that show how claudewire is used."""
