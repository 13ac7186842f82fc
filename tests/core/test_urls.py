"""The URL door: what is fetched, what never, and what a person is asked about, for every spelling of a host."""

from __future__ import annotations

import json
from ipaddress import ip_address
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_core.safety.addresses import is_host, is_metadata, is_public
from agent_core.safety.urls import Target, UrlVerdict, check, check_redirect, parse
from tests.corpus import url_verdicts, urls
from tests.rows import each_row

DATA = Path(__file__).parents[1] / "data/corpora"
PUBLIC = "93.184.216.34"


def rows(name: str):
    return [json.loads(line) for line in (DATA / name).read_text("utf-8").split("\n") if line]


@each_row("row", rows("security/urls.jsonl"), ids=lambda row: row["id"])
def test_every_row_of_the_url_corpus_holds(row):
    assert urls.check(row) == ""


@each_row(
    "row", [row for row in rows("behaviour/url_verdicts.jsonl") if url_verdicts.binds(row)], ids=lambda row: row["id"]
)
def test_every_binding_row_of_another_products_verdicts_holds(row):
    assert url_verdicts.check(row) == ""


def public(host: str) -> list[str]:
    return [PUBLIC]


def verdict(url: str, *answers: str, allow_private: bool = False) -> UrlVerdict:
    return check(url, lambda host: answers or [PUBLIC], allow_private)


@each_row(
    "url",
    [
        "HTTPS://EXAMPLE.COM",
        "https://example.com.",
        "https://example.com?x=1",
        "https://example.com:443/",
        "http://example.com:8080/x",
        "https://sub.do-main.example:8443/a/b;c=d?e=f&g#h",
        "https://example.com/@user",
        "https://example.com/a%20b/%e4%b8%ad",
        "https://example.com/中文/路径?查询=值",
        "https://例え.example/",
        "https://faß.example/",
        "https://ｅｘａｍｐｌｅ.com/",
        "https://xn--bcher-kva.example/",
        "https://10.example.com/",
        "https://0x10.example/",
        "https://example.com/?next=//127.0.0.1/",
        "https://example.com/?page_token=CAUQAA&tokens=12",
        "https://example.com/search?q=token+bucket",
        "https://example.com/?keyword=password",
        "https://example.com/a?token=",
        "https://example.com/?key=some-long-plain-word-here",
        "https://example.com/?pass=2&auth=no",
        "https://my_host.example/",
        "https://8.8.8.8/dns-query",
        "https://[2001:4860:4860::8888]/",
        "https://[2606:4700:4700::1111]:8443/",
        "https://[::ffff:8.8.8.8]/",
        "https://[64:ff9b::808:808]/",
        "https://169.253.255.255/",
        "https://172.15.255.255/",
        "https://172.32.0.1/",
        "https://198.17.255.255/",
        "https://223.255.255.255/",
    ],
)
def test_what_is_on_the_public_internet_is_fetched(url):
    got = verdict(url)
    assert (got.verdict, got.rule) == ("allow", "")


@each_row(
    ("url", "rule"),
    [
        # one strict parse
        ("", "not a URL"),
        ("example.com", "not a URL"),
        ("https:", "not a URL"),
        ("https:/example.com", "not a URL"),
        ("https:example.com", "not a URL"),
        ("https://", "not a URL"),
        ("https:///example.com", "not a URL"),
        ("https://?q", "not a URL"),
        (" https://example.com/", "not a URL"),
        ("https://exam ple.com/", "not a URL"),
        ("https://example.com\u3000/", "not a URL"),
        ("https://example.com\u00a0/", "not a URL"),
        ("https://example.com/\r\nHost: evil", "not a URL"),
        ("https://example.com/\x00", "not a URL"),
        ("https://example.com/\x85", "not a URL"),
        ("https://example.com/\ud800", "not a URL"),
        ("https://example.com\\.evil.example/", "not a URL"),
        ("https://example.com/a\\..\\b", "not a URL"),
        ("https://example.com%2f@evil.example/", "user in the URL"),
        ("https://example.com%2fevil/", "not a URL"),
        ("https://@example.com/", "user in the URL"),
        ("https://user@example.com/", "user in the URL"),
        ("https://a@b@example.com/", "user in the URL"),
        ("https://example..com/", "not a URL"),
        ("https://.example.com/", "not a URL"),
        ("https://example.com../", "not a URL"),
        ("https://-/", "not a URL"),
        ("https://exa<mple>.com/", "not a URL"),
        ("https://exa!mple.com/", "not a URL"),
        ("https://" + "a" * 64 + ".com/", "not a URL"),
        ("https://" + "a." * 130 + "com/", "not a URL"),
        ("https://example.com/" + "a" * 9000, "not a URL"),
        ("https://[::1/", "not a URL"),
        ("https://[::1]x/", "not a URL"),
        ("https://[example.com]/", "not a URL"),
        ("https://[v1.a]/", "not a URL"),
        ("https://::1/", "not a URL"),
        # schemes
        ("HTTPX://example.com/", "scheme"),
        ("data:text/plain,hi", "scheme"),
        ("gopher://example.com/", "scheme"),
        ("blob:https://example.com/x", "scheme"),
        ("feed://example.com/", "scheme"),
        # ports
        ("https://example.com:/", "port"),
        ("https://example.com:0/", "port"),
        ("https://example.com:65536/", "port"),
        ("https://example.com:123456/", "port"),
        ("https://example.com:٨٠/", "port"),
        ("https://example.com:+80/", "port"),
        ("https://example.com:25/", "port"),
        ("https://example.com:11211/", "port"),
        ("https://example.com:3306/", "port"),
        ("https://example.com:5432/", "port"),
        ("https://example.com:2375/", "port"),
        # other spellings of an address
        ("http://0x5db8d822/", "host form"),
        ("http://1572395042/", "host form"),
        ("http://93.184.55330/", "host form"),
        ("http://093.184.216.34/", "host form"),
        ("http://93.184.216.0x22/", "host form"),
        ("http://93.184.216.34.5/", "host form"),
        ("http://256.1.1.1/", "host form"),
        ("http://0x/", "host form"),
        ("http://example.123/", "host form"),
        ("http://９３.184.216.34/", "host form"),
        ("http://93。184。216。34/", "host form"),
        ("http://⑨3.184.216.34/", "host form"),
        ("http://exam\u200bple.com/", "host form"),
        ("http://exam\u2060ple.com/", "host form"),
        ("http://\u202emoc.elpmaxe/", "host form"),
        ("http://ⓛocalhost/", "not public"),
        ("http://ｌｏｃａｌｈｏｓｔ/", "not public"),
        ("http://LOCALHOST./", "not public"),
        ("http://a.b.localhost/", "not public"),
        ("http://printer.local/", "not public"),
        ("http://build.internal/", "not public"),
        ("http://router.home.arpa/", "not public"),
        # addresses
        ("http://127.0.0.1./", "not public"),
        ("http://127.255.255.254/", "not public"),
        ("http://172.16.0.1/", "not public"),
        ("http://172.31.255.255/", "not public"),
        ("http://192.0.2.1/", "not public"),
        ("http://198.51.100.7/", "not public"),
        ("http://203.0.113.9/", "not public"),
        ("http://224.0.0.1/", "not public"),
        ("http://[::ffff:7f00:1]/", "not public"),
        ("http://[::ffff:0:127.0.0.1]/", "not public"),
        ("http://[0:0:0:0:0:ffff:c0a8:1]/", "not public"),
        ("http://[::10.0.0.1]/", "not public"),
        ("http://[::8.8.8.8]/", "not public"),
        ("http://[64:ff9b::a00:1]/", "not public"),
        ("http://[64:ff9b:1::1]/", "not public"),
        ("http://[2002:7f00:1::]/", "not public"),
        ("http://[2002:808:808::1]/", "not public"),
        ("http://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/", "not public"),
        ("http://[2001:db8::1]/", "not public"),
        ("http://[3fff::1]/", "not public"),
        ("http://[fd12::1]/", "not public"),
        ("http://[ff02::1]/", "not public"),
        ("http://[2606:4700::5efe:10.0.0.1]/", "not public"),
        ("http://[4000::1]/", "not public"),
        # metadata
        ("http://169.254.0.1/", "metadata service"),
        ("http://168.63.129.16/", "metadata service"),
        ("http://[::ffff:100.100.100.200]/", "metadata service"),
        ("http://[64:ff9b::a9fe:a9fe]/", "metadata service"),
        ("http://[2002:a9fe:a9fe::1]/", "metadata service"),
        ("http://[fd00:ec2::254]/", "metadata service"),
        ("http://[fe80::a9fe:a9fe]/", "metadata service"),
        ("http://Metadata.Google.Internal/", "metadata service"),
        ("http://ｍetadata.goog/", "metadata service"),
        ("http://x.metadata.goog/", "metadata service"),
        ("http://instance-data./", "metadata service"),
    ],
)
def test_what_is_not_is_refused_by_the_rule_that_names_why(url, rule):
    got = verdict(url)
    assert (got.verdict, got.rule) == ("deny", rule)
    assert got.text.endswith(".")


@each_row(
    ("answers", "expected"),
    [
        ([PUBLIC], ""),
        ([PUBLIC, "2606:4700::1"], ""),
        ([PUBLIC, PUBLIC], ""),
        ([], "no address"),
        ([PUBLIC, "10.0.0.1"], "not public"),
        (["::1", PUBLIC], "not public"),
        (["fe80::1%eth0"], "metadata service"),
        (["not-an-ip%garbage"], "not public"),
        ([PUBLIC, ""], "not public"),
        (["::ffff:169.254.169.254"], "metadata service"),
        ([PUBLIC, "169.254.169.254"], "metadata service"),
    ],
)
def test_one_bad_answer_of_a_resolver_is_enough(answers, expected):
    got = check("https://example.com/", lambda host: answers)
    assert got.rule == expected
    assert got.addresses == (() if expected else tuple(dict.fromkeys(answers)))


def test_a_resolver_that_fails_has_no_answer():
    def fails(host: str):
        raise OSError("no network")

    assert check("https://example.com/", fails).rule == "no address"


def test_the_resolver_is_asked_once_and_only_for_names():
    asked: list[str] = []

    def resolve(host: str) -> list[str]:
        asked.append(host)
        return [PUBLIC]

    for url in ("https://bücher.example./", "https://8.8.8.8/", "https://user@x.example/", "https://x.example:22/"):
        check(url, resolve)
    assert asked == ["xn--bcher-kva.example"]


@each_row(
    ("url", "answer", "expected"),
    [
        ("http://localhost:8080/", "127.0.0.1", "allow"),
        ("http://127.0.0.1:3000/", "", "allow"),
        ("http://[::1]/", "", "allow"),
        ("http://nas.local/", "192.168.1.4", "allow"),
        ("http://wiki.corp/", "10.1.2.3", "allow"),
        ("http://wiki.corp/", "fd12::5", "allow"),
        ("http://metadata.goog/", "10.0.0.1", "deny"),
        ("http://wiki.corp/", "169.254.169.254", "deny"),
        ("http://wiki.corp/", "::ffff:100.100.100.200", "deny"),
        ("http://0.0.0.0/", "", "deny"),
        ("http://224.0.0.1/", "", "deny"),
        ("http://2130706433/", "", "deny"),
        ("http://localhost:22/", "127.0.0.1", "deny"),
        ("ftp://localhost/", "127.0.0.1", "deny"),
    ],
)
def test_private_urls_may_be_allowed_but_never_the_floor(url, answer, expected):
    assert verdict(url, *[answer] * bool(answer), allow_private=True).verdict == expected


@each_row(
    "url",
    [
        "https://example.com/?password=hunter2",
        "https://example.com/?a=1&API-KEY=abcdef",
        "https://example.com/?x-amz-signature=0123456789abcdef",
        "https://example.com/?a=1;access_token=abc",
        "https://example.com/?my_secret=abc",
        "https://example.com/?q=sk-ant-" + "FAKE0" * 12,
        "https://example.com/?%74oken=abcdef",
        "https://example.com/?auth=abcdef123456",
        "https://example.com/?PHPSESSID=abc123",
        "https://example.com/?key=0123456789abcdef0123",
        "https://example.com/log/ghp_" + "Fake0" * 8,
        "https://hooks.example.com/services/T00000000/B00000000/" + "FAKEfake0" * 3,
    ],
)
def test_a_credential_in_a_url_is_asked_about(url):
    got = verdict(url)
    assert (got.verdict, got.rule) == ("ask", "credential in the URL")
    assert got.addresses == (PUBLIC,)


def test_a_key_that_is_known_by_its_value_is_asked_about_too():
    got = check("https://example.com/?q=plainword", public, hide=lambda text: text.replace("plainword", "*"))
    assert got.verdict == "ask"


def test_a_refusal_comes_before_a_question():
    assert verdict("http://10.0.0.1/?token=abcdef").verdict == "deny"


HERE = parse("https://example.com/a/b?c")
assert isinstance(HERE, Target)


@each_row(
    ("location", "expected"),
    [
        ("/x", "https://example.com/x"),
        ("x?y", "https://example.com/a/x?y"),
        ("?z", "https://example.com/a/b?z"),
        ("../up", "https://example.com/up"),
        ("//other.example/x", "https://other.example/x"),
        ("https://other.example", "https://other.example/"),
        ("https://cdn.example/file?token=abcdefgh&sig=1234", "https://cdn.example/file?token=abcdefgh&sig=1234"),
        ("#only", "https://example.com/a/b?c"),
        ("http://example.com/", ""),
        ("HTTP://example.com/", ""),
        ("https://127.0.0.1/", ""),
        ("//[::1]/", ""),
        ("https://user:pw@example.com/", ""),
        ("javascript:alert(1)", ""),
        ("file:///etc/hostname", ""),
        ("/\\evil.example", ""),
        ("\\\\evil.example/", ""),
        ("ht\ntp://127.0.0.1/", ""),
        ("//metadata.goog/", ""),
        ("https://example.com:6379/", ""),
        ("//[", ""),
    ],
)
def test_each_redirect_is_judged_anew(location, expected):
    got = check_redirect(HERE, location, public)
    assert (got.target.url if got.verdict == "allow" and got.target else "") == expected


def test_a_redirect_from_http_may_go_to_https_and_http():
    start = parse("http://example.com/")
    assert isinstance(start, Target)
    assert check_redirect(start, "https://example.com/", public).verdict == "allow"
    assert check_redirect(start, "http://example.com/b", public).verdict == "allow"


@pytest.mark.parametrize(
    ("url", "written"),
    [
        ("HTTP://Example.COM.:80", "http://example.com/"),
        ("https://example.com:8443?q", "https://example.com:8443/?q"),
        ("https://[2606:4700:0:0::1]/x y", "https://[2606:4700::1]/x%20y"),
        ("https://bücher.example/ü?ü=100%", "https://xn--bcher-kva.example/%C3%BC?%C3%BC=100%25"),
        ("https://example.com/%e4?a=b#fragment", "https://example.com/%e4?a=b"),
    ],
)
def test_a_url_is_written_anew_from_its_parts(url, written):
    target = parse(url)
    assert isinstance(target, Target)
    assert target.url == written
    assert parse(written) == target


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=40), st.sampled_from(["", "http://", "https://a."]))
def test_any_text_has_a_verdict_and_what_is_allowed_is_one_plain_url(text, start):
    got = verdict(start + text)
    assert got.verdict in ("allow", "ask", "deny")
    if got.target is not None:
        assert got.target.url.isascii()
        assert got.target.url.isprintable()
        assert " " not in got.target.url
        again = parse(got.target.url)
        assert isinstance(again, Target)
        assert again.host == got.target.host


@given(st.ip_addresses(v=4))
def test_an_ipv4_address_is_judged_alike_in_every_form_that_embeds_it(address):
    mapped, nat64 = ip_address(f"::ffff:{address}"), ip_address(f"64:ff9b::{address}")
    assert is_public(mapped) is is_public(nat64) is is_public(address)
    for form in (mapped, nat64, ip_address(f"::ffff:0:{address}"), ip_address((0x2002 << 112) | int(address) << 80)):
        assert is_metadata(form) is is_metadata(address)
    assert not (is_public(address) and not is_host(address))


@given(st.ip_addresses(v=6))
def test_what_is_public_in_ipv6_is_so_for_python_too(address):
    if is_public(address) and not address.ipv4_mapped:
        assert address.is_global
