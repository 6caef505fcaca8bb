"""Which URLs the guard lets through, whatever they are written like."""

from collections.abc import Sequence

import pytest

from a2a_temporal._net import UrlGuard, UrlRefusedError, is_internal

PUBLIC = "93.184.215.14"


def guard(*allowed: str, **names: Sequence[str]) -> UrlGuard:
    async def resolve(host: str, port: int) -> Sequence[str]:
        if host.replace(".", "_") not in names:
            raise OSError(host)
        return names[host.replace(".", "_")]

    return UrlGuard(allowed, resolve=resolve)


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0",
        "10.0.0.1",
        "100.64.0.1",
        "100.127.255.255",
        "127.0.0.1",
        "127.255.255.255",
        "100.100.100.200",
        "168.63.129.16",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.1",
        "192.0.2.1",
        "192.168.0.1",
        "198.18.0.1",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::10.0.0.1",
        "::ffff:10.0.0.1",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "::ffff:168.63.129.16",
        "::ffff:0:10.0.0.1",
        "64:ff9b::a00:1",
        "2001::1",
        "2001:db8::1",
        "2002:a00:1::1",
        "fc00::1",
        "fd12:3456::1",
        "fe80::1",
        "fd00:ec2::254",
        "fec0::1",
        "ff02::1",
        "3fff::1",
        "4000::1",
        "5f00::1",
    ],
)
def test_an_address_that_is_not_public_is_internal(address: str) -> None:
    assert is_internal(address)


@pytest.mark.parametrize(
    "address", [PUBLIC, "1.1.1.1", "100.63.255.255", "100.128.0.1", "2606:4700::1111", "172.32.0.1"]
)
def test_a_public_address_is_not_internal(address: str) -> None:
    assert not is_internal(address)


async def test_a_name_is_refused_when_any_of_its_addresses_is_internal() -> None:
    mixed = guard(hooks_example_com=[PUBLIC, "10.0.0.1"])
    with pytest.raises(UrlRefusedError, match="not public"):
        await mixed.check("https://hooks.example.com/")
    assert (await guard(hooks_example_com=[PUBLIC]).check("https://hooks.example.com/")).addresses


async def test_a_name_that_changes_its_answer_is_refused_the_second_time() -> None:
    answers = iter([[PUBLIC], ["127.0.0.1"]])

    async def resolve(host: str, port: int) -> Sequence[str]:
        return next(answers)

    rebinding = UrlGuard(resolve=resolve)
    await rebinding.check("https://rebinding.example.com/")
    with pytest.raises(UrlRefusedError, match="not public"):
        await rebinding.check("https://rebinding.example.com/")


async def test_a_scoped_address_counts_as_its_address() -> None:
    with pytest.raises(UrlRefusedError, match="not public"):
        await guard(hooks_example_com=["fe80::1%eth0"]).check("http://hooks.example.com/")


@pytest.mark.parametrize(
    "url",
    [
        "",
        "hooks.example.com",
        "//hooks.example.com/",
        "file:///etc/passwd",
        "ftp://hooks.example.com/",
        "HTTPS//hooks.example.com",
        "http://",
        "http:///path",
        "http://:80/",
        "http://./",
        "http://..:80/",
        "http://hooks.example.com:0/",
        "http://hooks.example.com:99999/",
        "http://hooks.example.com:x/",
        "http://user@hooks.example.com/",
        "http://user:pass@hooks.example.com/",
        "http://@hooks.example.com/",
        "http://hooks.example.com\\@10.0.0.1/",
        "http://hooks.example.com/ path",
        "http://hooks.example.com/\r\nX-Injected: 1",
        "http://hooks.example.com\t/",
        "http://hooks.exämple.com/",
        "http://[::1/",
        "http://hooks.example.com/" + "x" * 2048,
    ],
)
async def test_what_is_no_plain_http_url_is_refused(url: str) -> None:
    with pytest.raises(UrlRefusedError):
        await guard(hooks_example_com=[PUBLIC]).check(url)


async def test_no_text_of_a_refusal_quotes_credentials() -> None:
    with pytest.raises(UrlRefusedError) as refusal:
        await guard().check("http://user:hunter2@hooks.example.com/")
    assert "hunter2" not in str(refusal.value)


@pytest.mark.parametrize(
    ("entry", "url", "addresses"),
    [
        ("hooks.internal", "http://hooks.internal/", ["10.0.0.1"]),
        ("hooks.internal", "http://HOOKS.internal.:8080/", ["10.0.0.1"]),
        ("hooks.internal:8080", "http://hooks.internal:8080/", ["10.0.0.1"]),
        ("*.internal", "http://hooks.internal/", ["10.0.0.1"]),
        ("10.0.0.0/8", "http://hooks.internal/", ["10.0.0.1"]),
        ("10.0.0.0/8", "http://hooks.internal/", ["::ffff:10.0.0.1"]),
        ("fd00::/8", "http://hooks.internal/", ["fd00::1"]),
    ],
)
async def test_what_is_allowed_passes(entry: str, url: str, addresses: list[str]) -> None:
    destination = await guard(entry, hooks_internal=addresses).check(url)
    assert destination.addresses == tuple(addresses)


@pytest.mark.parametrize(
    ("entry", "url", "addresses"),
    [
        ("hooks.internal:8080", "http://hooks.internal/", ["10.0.0.1"]),
        ("*.internal", "http://hooks.internal.example.com/", ["10.0.0.1"]),
        ("internal", "http://hooks.internal/", ["10.0.0.1"]),
        ("10.0.0.0/8", "http://hooks.internal/", ["10.0.0.1", "192.168.0.1"]),
    ],
)
async def test_what_is_only_like_an_allowed_one_is_refused(
    entry: str, url: str, addresses: list[str]
) -> None:
    names = {"hooks_internal": addresses, "hooks_internal_example_com": addresses}
    with pytest.raises(UrlRefusedError):
        await guard(entry, **names).check(url)


@pytest.mark.parametrize("entry", ["", "http://hooks.internal", "10.0.0.1/8", "10.0.0.0/99"])
def test_a_malformed_entry_of_the_allow_list_is_an_error(entry: str) -> None:
    with pytest.raises(ValueError, match="allowed_hosts"):
        UrlGuard([entry])


async def test_the_parts_of_a_url_are_kept_as_they_were_written() -> None:
    destination = await guard(hooks_example_com=["2606:4700::1111"]).check(
        "https://hooks.example.com:8443/a/b?c=d#fragment"
    )
    assert destination.host_header == "hooks.example.com:8443"
    assert destination.target == "/a/b?c=d"
    assert destination.addresses == ("2606:4700::1111",)


async def test_a_refusal_does_not_say_what_a_name_resolves_to() -> None:
    texts: set[str] = set()
    for names in ({"wiki_corp": ["10.0.0.1"]}, {"wiki_corp": ["fd00::1", PUBLIC]}, {}):
        with pytest.raises(UrlRefusedError) as refusal:
            await guard(**names).check("http://wiki.corp/")
        texts.add(str(refusal.value))
    assert len(texts) == 1
