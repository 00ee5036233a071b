"""Every type on the wire: messages, content blocks, requests of each side, answers, hooks.

One struct for each, decoded by msgspec and keeping what it does not declare. Other packages import
them from `claudewire.wire`. Start with `base`, then `messages`.
"""

# No `__all__`: pyright takes one that stands here for that of each module below.
