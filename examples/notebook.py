# %% [markdown]
# # Sorting feedback
#
# A notebook, as VS Code and Jupytext read it: each `# %%` begins a cell. A notebook runs its own
# event loop, so `asyncio.run` fails in it. `claudewire.sync` has another, in a thread.

# %%
from collections import Counter
from dataclasses import dataclass
from typing import Literal

import claudewire
from claudewire import sync

FEEDBACK = [
    "The export crashes when a name has an umlaut.",
    "Could you add a dark mode?",
    "I love the new search!",
]


@dataclass
class Label:
    kind: Literal["bug", "wish", "praise"]
    summary: str


# %% [markdown]
# The session stays open from cell to cell, and the last cell closes it. If that is never run, the
# CLI is ended together with the kernel.

# %%
claude = sync.open(
    output=Label,
    builtin_tools=[],  # the model only has to read the prompt
    system_prompt="You sort customer feedback.",
    budgets=[claudewire.Budget(cost_usd=0.50)],
)

# %%
labels = [claude.ask(text).output for text in FEEDBACK]
for label in labels:
    print(f"{label.kind:8} {label.summary}")

# %%
print(Counter(label.kind for label in labels).most_common())
print(f"{claude.ledger.session.turns} turns, ${claude.ledger.session.cost_usd:.4f}")

# %% [markdown]
# Interrupting the kernel interrupts any wait. The next cell can go on with the same session.

# %%
claude.close()
