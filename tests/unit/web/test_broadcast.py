"""Every viewer receives every event in order, whenever they come and however slow they are."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from maci.web.live import Broadcast


def frames(data: bytes) -> list[tuple[str, Any, str]]:
    """(event, data, id) of what was sent."""
    found = []
    for block in data.decode().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line and not line.startswith(":"))
        if "data" in fields:
            found.append((fields["event"], json.loads(fields["data"]), fields.get("id", "")))
    return found


async def all_of(broadcast: Broadcast, after: int = 0, pause: float = 0.0) -> list[tuple[str, Any, str]]:
    out = b""
    async for chunk in broadcast.follow(after):
        out += chunk
        if pause:
            await asyncio.sleep(pause)
    return frames(out)


def numbers(sent: list[tuple[str, Any, str]]) -> list[int]:
    return [data["seq"] for event, data, _ in sent if event == "line"]


def test_viewers_at_any_time_get_every_event_in_order_and_the_end() -> None:
    async def go() -> None:
        broadcast = Broadcast()
        broadcast.event("turn", "<li>0</li>")
        early = asyncio.ensure_future(all_of(broadcast))
        slow = asyncio.ensure_future(all_of(broadcast, pause=0.01))
        for n in range(1, 200):
            broadcast.event("turn", f"<li>{n}</li>")
            if n % 7 == 0:
                await asyncio.sleep(0)
        late = asyncio.ensure_future(all_of(broadcast, after=150))
        await asyncio.sleep(0)
        broadcast.end()
        for viewer, start in ((early, 0), (slow, 0), (late, 150)):
            sent = await viewer
            assert numbers(sent) == list(range(start + 1, 201))
            assert [id for event, _, id in sent if event == "line"] == [str(n) for n in range(start + 1, 201)]
            assert sent[-1][0] == "end"
        assert broadcast.viewers == 0

    asyncio.run(go())


def test_of_a_panel_only_the_last_state_is_sent_and_unchanged_ones_are_not() -> None:
    async def go() -> None:
        broadcast = Broadcast()
        broadcast.panels({"a": "1", "b": "1"})
        broadcast.panels({"a": "2", "b": "1"})
        viewer = asyncio.ensure_future(all_of(broadcast))
        await asyncio.sleep(0.01)
        broadcast.panels({"a": "2", "b": "3"})
        await asyncio.sleep(0.01)
        broadcast.panels({"a": "2", "b": "3"})
        broadcast.end()
        assert [data for event, data, _ in await viewer if event == "panels"] == [{"a": "2", "b": "1"}, {"b": "3"}]

    asyncio.run(go())


def test_all_viewers_get_the_same_bytes() -> None:
    async def go() -> None:
        broadcast = Broadcast()
        broadcast.event("turn", "x")
        broadcast.panels({"a": "1"})
        first, second = broadcast._pack(0), broadcast._pack(0)
        assert first is second
        broadcast.panels({"a": "2"})
        assert broadcast._pack(0) is not first

    asyncio.run(go())


def test_a_silent_debate_sends_heartbeats() -> None:
    async def go() -> bytes:
        broadcast = Broadcast(heartbeat=0.01)
        stream = broadcast.follow()
        parts = [await anext(stream) for _ in range(3)]
        await stream.aclose()
        assert broadcast.viewers == 0
        return parts[-1]

    assert asyncio.run(go()).startswith(b":")


def test_text_cannot_forge_frames() -> None:
    async def go() -> list[tuple[str, Any, str]]:
        broadcast = Broadcast()
        broadcast.event("turn", "a\n\nevent: end\ndata: {}\n\r\n\rb")
        broadcast.end()
        return await all_of(broadcast)

    sent = asyncio.run(go())
    assert [event for event, _, _ in sent] == ["line", "end"]
    assert sent[0][1]["html"] == "a\n\nevent: end\ndata: {}\n\r\n\rb"


def test_two_hundred_viewers_of_every_speed_get_every_event_in_order() -> None:
    async def go() -> None:
        broadcast = Broadcast()
        viewers = [asyncio.ensure_future(all_of(broadcast, pause=(n % 5) * 0.001)) for n in range(200)]
        for n in range(100):
            broadcast.event("turn", f"<li>{n}</li>")
            broadcast.panels({"p-now": str(n)})
            await asyncio.sleep(0.001)
        broadcast.end()
        for viewer in viewers:
            sent = await viewer
            assert numbers(sent) == list(range(1, 101))
            assert [data for event, data, _ in sent if event == "panels"][-1] == {"p-now": "99"}

    asyncio.run(go())
