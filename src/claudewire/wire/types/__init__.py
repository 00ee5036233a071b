"""Every type on the wire: messages, content blocks, requests of each side, answers, hooks.

One struct for each, decoded by msgspec. Other packages import them from `claudewire.wire`. Begin
with `base`, then `messages`.
"""
