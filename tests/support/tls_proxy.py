"""A TLS front for a plain server, with certificates that are made for the occasion."""

import asyncio
import contextlib
import datetime
import ipaddress
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from tests.support.raw_server import closed, raw_server


@dataclass(frozen=True)
class Certificates:
    """Files of one authority, and of a server and a client that it vouches for."""

    ca: Path
    server: Path
    server_key: Path
    client: Path
    client_key: Path


def make_certificates(folder: Path) -> Certificates:
    """Write an authority, a server certificate for localhost, and a client certificate."""
    folder.mkdir(parents=True, exist_ok=True)
    ca_key = ec.generate_private_key(ec.SECP256R1())
    ca_name = _name(f"test authority {folder.name}")
    ca = (
        _builder(ca_name, ca_name, ca_key)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(ca_key, hashes.SHA256())
    )
    files = Certificates(*(folder / f"{n}.pem" for n in ("ca", "server", "skey", "client", "ckey")))
    files.ca.write_bytes(ca.public_bytes(serialization.Encoding.PEM))
    for certificate, key_file, name, usage in (
        (files.server, files.server_key, "localhost", ExtendedKeyUsageOID.SERVER_AUTH),
        (files.client, files.client_key, "client", ExtendedKeyUsageOID.CLIENT_AUTH),
    ):
        key = ec.generate_private_key(ec.SECP256R1())
        names = [x509.DNSName(name), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
        signed = (
            _builder(_name(name), ca_name, key)
            .add_extension(x509.SubjectAlternativeName(names), critical=False)
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
            .sign(ca_key, hashes.SHA256())
        )
        certificate.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
        key_file.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
    return files


@asynccontextmanager
async def tls_proxy(
    target_port: int, files: Certificates, *, demands_client: bool = False
) -> AsyncGenerator[int]:
    """Forward a TLS port to a plain one; yield the TLS port."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files.server, files.server_key)
    context.set_alpn_protocols(["h2"])
    if demands_client:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(files.ca)

    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", target_port)
        try:
            await asyncio.gather(_pipe(reader, back), _pipe(there, writer))
        finally:
            await closed(back)

    async with raw_server(forward, context=context) as port:
        yield port


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.close()


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.timezone.utc)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
    )
