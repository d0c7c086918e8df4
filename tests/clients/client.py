"""The official client for Python in front of a server, in each of its modes: the one that the arguments start, or
the one at an address."""

import asyncio
import sys

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.shared.exceptions import MCPError


def server():
    command, *args = sys.argv[1:]
    if command.startswith("http://"):
        return command
    return stdio_client(StdioServerParameters(command=command, args=args))


async def check(mode: str, revision: str) -> None:
    async with Client(server(), mode=mode) as client:
        assert client.protocol_version == revision, client.protocol_version
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert list(tools) == ["calculator", "current_datetime"], tools
        assert tools["calculator"].annotations.read_only_hint is True, tools
        called = await client.call_tool("calculator", {"expression": "15% of 2500"})
        assert called.content[0].text == "375" and not called.is_error, called
        assert called.structured_content["result"] == "375", called
        wrong = await client.call_tool("calculator", {"expr": "15% of 2500"})
        assert wrong.is_error and "expression" in wrong.content[0].text, wrong
        try:
            await client.call_tool("calc", {})
        except MCPError as error:
            assert "`calc`" in str(error), error
        else:
            raise AssertionError("an unknown tool was called")
        calls = [client.call_tool("calculator", {"expression": f"{n} * 2"}) for n in range(100)]
        answers = [answer.content[0].text for answer in await asyncio.gather(*calls)]
        assert answers == [str(n * 2) for n in range(100)], answers
    print(mode, revision)


for mode, revision in [("legacy", "2025-11-25"), ("auto", "2026-07-28"), ("2026-07-28", "2026-07-28")]:
    asyncio.run(check(mode, revision))
