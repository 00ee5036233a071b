"""The start of a program that opens a session: the processor's time of the user until it is open.

python start_ours.py CLI
"""

import asyncio
import json
import resource
import sys

import claudewire


async def main() -> None:
    async with claudewire.open(cli=sys.argv[1]):
        used = resource.getrusage(resource.RUSAGE_SELF).ru_utime
        print(json.dumps([{"user": used, "modules": len(sys.modules)}]))


asyncio.run(main())
