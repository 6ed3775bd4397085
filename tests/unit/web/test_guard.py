"""Who may come in, and who may not."""

from __future__ import annotations

from pathlib import Path

import pytest

from maci.errors import InputError
from maci.web import Limits, ServerSettings
from maci.web.guard import Visit
from web_helpers import HOST, Browser, entries, tables, visit

TOKEN = "a-token-that-is-long-enough"


def test_a_site_whose_name_points_here_is_turned_away(tmp_path: Path) -> None:
    async def walk(browser: Browser) -> None:
        for host in ("evil.example", "evil.example:8642", "127.0.0.1.evil.example", "", "[", "[::1"):
            answer = await browser.get("/", headers={"host": host})
            assert answer.status_code == 421
        for host in ("127.0.0.1:8642", "localhost:1", "[::1]:8642"):
            assert (await browser.get("/", headers={"host": host})).status_code == 200

    visit(tmp_path, walk)


def test_forms_of_other_sites_are_refused(tmp_path: Path) -> None:
    async def walk(browser: Browser) -> None:
        word = await browser.word()
        foreign = (
            {"origin": "http://evil.example"},
            {"origin": "http://127.0.0.1:9999"},  # another server on this machine
            {"origin": "null"},
            {"origin": "http://["},
            {"sec-fetch-site": "cross-site"},
            {"sec-fetch-site": "same-site"},
        )
        for headers in foreign:
            answer = await browser.client.post("/debates", data={"word": word, "question": "x"}, headers=headers)
            assert answer.status_code == 403, headers
            answer = await browser.client.post("/v1/chat/completions", content="{}", headers=headers)
            assert answer.status_code == 403, headers
        assert entries(tmp_path) == []

    visit(tmp_path, walk)


def test_a_form_without_our_word_is_refused_even_from_the_same_origin(tmp_path: Path) -> None:
    async def walk(browser: Browser) -> None:
        await browser.get("/new")
        for word in ("", "x", Visit("somebody else's session").word):
            answer = await browser.client.post(
                "/debates", data={"word": word, "question": "x"}, headers={"origin": HOST}
            )
            assert answer.status_code == 403
            assert "load the page again" in answer.text

    visit(tmp_path, walk)


def test_words_differ_and_are_all_known() -> None:
    here = Visit("a session")
    assert here.word != here.word
    assert here.knows(here.word) and not here.knows(Visit("another").word)


def test_with_a_token_nothing_is_shown_to_strangers(tmp_path: Path) -> None:
    async def walk(browser: Browser) -> None:
        for path in ("/", "/new", "/debates/x", "/debates/x/events", "/studies", "/debates/x/transcript.jsonl"):
            answer = await browser.client.get(path, follow_redirects=False)
            assert answer.status_code == 303 and answer.headers["location"].startswith("/sign-in"), path
        assert (await browser.client.get("/v1/models")).status_code == 401
        assert (await browser.client.get("/v1/models", headers={"authorization": "Bearer wrong"})).status_code == 401
        assert (await browser.client.get("/v1/models", headers={"authorization": f"Bearer {TOKEN}"})).status_code == 200
        answer = await browser.client.post("/debates", data={"question": "x"}, follow_redirects=False)
        assert answer.status_code == 303
        assert (await browser.get("/sign-in")).status_code == 200
        assert (await browser.get("/?token=wrong")).status_code == 403

    visit(tmp_path, walk, token=TOKEN, host="0.0.0.0")


def test_the_link_with_the_token_leaves_a_cookie_and_no_token(tmp_path: Path) -> None:
    async def walk(browser: Browser) -> None:
        answer = await browser.client.get(f"/?q=a&token={TOKEN}", follow_redirects=False)
        assert answer.status_code == 303 and answer.headers["location"] == "/?q=a"
        cookie = answer.headers["set-cookie"]
        assert "HttpOnly" in cookie and "SameSite=Strict" in cookie and TOKEN not in cookie
        assert (await browser.get("/")).status_code == 200
        assert (await browser.client.get("/", headers={"host": "my-machine.local:8642"})).status_code == 200

    visit(tmp_path, walk, token=TOKEN, host="0.0.0.0")


def test_signing_in_by_form_goes_where_one_was_going_and_nowhere_else(tmp_path: Path) -> None:
    async def walk(browser: Browser) -> None:
        wrong = await browser.client.post("/sign-in", data={"token": "wrong", "next": "/"})
        assert wrong.status_code == 403 and "not the token" in wrong.text
        for target, to in (
            ("/studies", "/studies"),
            ("//evil.example", "/"),
            ("https://evil.example", "/"),
            ("/\\evil", "/"),
        ):
            answer = await browser.client.post(
                "/sign-in", data={"token": TOKEN, "next": target}, follow_redirects=False
            )
            assert answer.headers["location"] == to
        assert (await browser.get("/studies")).status_code == 200

    visit(tmp_path, walk, token=TOKEN, host="0.0.0.0")


def test_cookies_of_other_programs_on_this_machine_are_no_hindrance(tmp_path: Path) -> None:
    async def walk(browser: Browser) -> None:
        answer = await browser.client.get(f"/?token={TOKEN}", follow_redirects=False)
        own = answer.headers["set-cookie"].partition(";")[0]
        browser.client.cookies.clear()
        cookie = {"cookie": f'theme={{"dark":true}}; a b; =; {own}'}
        assert (await browser.get("/new", headers=cookie, follow_redirects=False)).status_code == 200

    visit(tmp_path, walk, token=TOKEN, host="0.0.0.0")


def test_a_server_for_others_needs_a_token_of_some_length(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a token is needed"):
        ServerSettings(runs=tmp_path, host="0.0.0.0")
    with pytest.raises(InputError, match="at least 16"):
        ServerSettings(runs=tmp_path, token="short")


def test_every_answer_carries_the_policy(tmp_path: Path) -> None:
    async def walk(browser: Browser) -> None:
        for path in ("/", "/new", "/static/live.js", "/no-such-page", "/compare", "/studies", "/v1/models"):
            answer = await browser.get(path)
            policy = answer.headers["content-security-policy"]
            assert "default-src 'none'" in policy and "unsafe" not in policy, path
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["referrer-policy"] == "same-origin"
        assert "script-src 'self'" in (await browser.get("/")).headers["content-security-policy"]

    visit(tmp_path, walk)


def test_too_large_a_body_is_refused_while_it_comes_in(tmp_path: Path) -> None:
    async def walk(browser: Browser) -> None:
        answer = await browser.post("/debates", {"question": "x" * 3000})
        assert answer.status_code == 413
        assert (
            "<h1>Too much</h1>" in answer.text
            and "can be taken at once" in answer.text
            and 'href="/new"' in answer.text
        )

        async def drip():
            for _ in range(30):
                yield b"x" * 100

        headers = {"content-type": "application/x-www-form-urlencoded"}
        answer = await browser.client.post("/debates", content=drip(), headers=headers)  # no length given
        assert answer.status_code == 413
        assert "can be taken at once" in answer.text
        answer = await browser.client.post("/v1/chat/completions", content=b"x" * 3000)
        assert answer.status_code == 413 and "can be taken at once" in answer.json()["error"]["message"]

    visit(tmp_path, walk, limits=Limits(body=2000))


def test_only_get_and_post_are_served(tmp_path: Path) -> None:
    async def walk(browser: Browser) -> None:
        assert (await browser.client.delete("/debates/x")).status_code == 405
        assert (await browser.client.put("/debates/x")).status_code == 405

    visit(tmp_path, walk)


def test_names_of_debates_do_not_lead_out_of_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "transcript.jsonl").write_text("secret")
    inside = tmp_path / "runs"
    inside.mkdir()

    async def walk(browser: Browser) -> None:
        for name in ("..", "%2e%2e", "..%2f", "..%5c", ".", "%00", "x%2f..%2f.."):
            for tail in ("", "/transcript.jsonl", "/events"):
                answer = await browser.get(f"/debates/{name}{tail}")
                assert answer.status_code in {404, 422} or (answer.url.path == "/" and "secret" not in answer.text), (
                    name
                )

    with tables(monkeypatch):
        visit(inside, walk)


def test_the_server_publishes_what_can_be_asked_of_it_to_who_may_ask(tmp_path: Path) -> None:
    async def described(browser: Browser) -> None:
        found = (await browser.get("/openapi.json")).json()
        form = found["paths"]["/debates"]["post"]["requestBody"]["content"]["application/x-www-form-urlencoded"][
            "schema"
        ]
        assert {"word", "question", "outcomes", "panel"} <= set(form["properties"]) and form["required"] == ["word"]
        assert {"/v1/chat/completions", "/debates/{id}/hand", "/compare", "/"} <= set(found["paths"])

    async def asked_for_the_token(browser: Browser) -> None:
        answer = await browser.client.get("/openapi.json", follow_redirects=False)
        assert answer.status_code == 303 and answer.headers["location"].startswith("/sign-in")

    visit(tmp_path, described)
    visit(tmp_path, asked_for_the_token, token=TOKEN)
