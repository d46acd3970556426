"""The certificate of the port on which peers reach us; who we are is in the signed card, which names its key."""

from __future__ import annotations

import hashlib
import ssl
from datetime import UTC, datetime
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from cryptography.x509.oid import NameOID

from toolcrib.errors import ConfigurationError, Problem
from toolcrib.files.made_once import make_once
from toolcrib.peers.signatures import to_base64

# The key is what counts, and it is pinned: the dates say nothing.
_FROM = datetime(2025, 1, 1, tzinfo=UTC)
_UNTIL = datetime(2125, 1, 1, tzinfo=UTC)


def certificate_hash(certificate: bytes) -> str:
    """What a card says of a certificate (DER): a hash of its key. Raises ValueError for what is no certificate."""
    key = x509.load_der_x509_certificate(certificate).public_key()
    return f"sha256-{to_base64(hashlib.sha256(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).digest())}"


def kept_certificate(path: Path, peer_id: str) -> bytes:
    """Our certificate (DER), made on first need; the file has its key too, and only its owner can read it."""
    try:
        if not path.exists():
            make_once(path, _new_certificate(f"{peer_id}.peer"))
        path.chmod(0o600)
        return x509.load_pem_x509_certificate(path.read_bytes()).public_bytes(Encoding.DER)
    except (OSError, ValueError) as problem:
        raise ConfigurationError(
            [Problem("", f"the certificate for peers can't be kept there: {problem}", str(path))],
            hint="Make the folder writable, or delete the file: a new certificate is made then.",
        ) from problem


def server_context(path: Path) -> ssl.SSLContext:
    """How we speak TLS on our own port, with the certificate in that file."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.load_cert_chain(path)
    return context


def any_certificate() -> ssl.SSLContext:
    """For the first look at a card: whatever certificate comes is compared with the card before anything is believed."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def only_certificate(certificate: bytes) -> ssl.SSLContext:
    """For everything else: nobody but the holder of this certificate (DER) is spoken to, under whatever address."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.load_verify_locations(cadata=certificate)
    return context


def _new_certificate(name: str) -> bytes:
    """A key and its certificate, as PEM; one that may sign, since Python trusts no other as its own root."""
    key = ec.generate_private_key(ec.SECP256R1())
    # A common name has at most 64 characters, which an id and the ending do not fill.
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    key_id = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(_FROM)
        .not_valid_after(_UNTIL)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(key_id, critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(key_id), critical=False)
        .add_extension(_usage(), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, SHA256())
    )
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return private + certificate.public_bytes(Encoding.PEM)


def _usage() -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )
