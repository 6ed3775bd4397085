"""A debate as a tool: what an MCP client such as an editor or a chat program does with `maci mcp`."""

import asyncio
import json
import os
import sys
import tempfile

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main() -> None:
    command = ["-m", "maci", "mcp", "--dir", tempfile.mkdtemp()]  # `maci mcp`, by the Python that runs this
    server = StdioServerParameters(command=sys.executable, args=command, env=dict(os.environ))  # with your keys
    async with stdio_client(server) as streams, ClientSession(*streams) as session:
        await session.initialize()
        print("tools:", ", ".join(tool.name for tool in (await session.list_tools()).tools))
        asked = {
            "question": "Which disease brings fever and pain behind the eyes?",
            "outcomes": ["Dengue fever", "Measles", "Gout"],
            "panel": "readers",
        }
        reply = await session.call_tool("debate", asked)
        result = json.loads(reply.content[0].text)
        print("answer:", result["answer"], "· stopped:", result["stop_reason"])


asyncio.run(main())
