"""The counterpart of `start_ours.py` with the official SDK.

python start_official.py CLI
"""

import asyncio
import json
import resource
import sys

from claude_agent_sdk import (  # type: ignore[import-not-found]
    ClaudeAgentOptions,
    ClaudeSDKClient,
)


async def main() -> None:
    async with ClaudeSDKClient(ClaudeAgentOptions(cli_path=sys.argv[1])):
        used = resource.getrusage(resource.RUSAGE_SELF).ru_utime
        print(json.dumps([{"user": used, "modules": len(sys.modules)}]))


asyncio.run(main())
