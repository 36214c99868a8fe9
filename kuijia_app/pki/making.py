"""Makes and reads keys and certificates, by `cryptography`; bytes in, bytes out."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from ipaddress import ip_address
from typing import Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.types import CertificatePublicKeyTypes
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from kuijia_app.framework.certificate_names import CONTROLLER, WEB_SERVER, named_ids
from kuijia_app.pki.holders import CertificateKind, Holder
from kuijia_base.errors import UnsoundError

SigningKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey

_CLOCKS_DIFFER_BY: Final = timedelta(minutes=5)
"""A certificate is valid from so long before it is made, for holders whose clock is slow."""

_SERVER, _CLIENT = ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH
_USES: Final = {
    CertificateKind.CONTROLLER: [_SERVER, _CLIENT],  # it serves switches, and calls its peers
    CertificateKind.SWITCH: [_CLIENT],
    CertificateKind.WEB: [_SERVER],
}
_CERTIFICATE_EXPECTED: Final = "a certificate in PEM"
_KEY_EXPECTED: Final = "a private key in PEM without a passphrase, of an elliptic curve or RSA"


@dataclass(frozen=True)
class Authority:
    """Key and certificate that sign others."""

    key: SigningKey
    certificate: x509.Certificate


def new_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def key_text(key: SigningKey) -> bytes:
    """Return a private key in PEM, not encrypted."""
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def certificate_text(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(Encoding.PEM)


def read_key(content: bytes) -> SigningKey:
    """Return the private key in PEM; raises UnsoundError if it is none that can sign for us."""
    try:
        key = load_pem_private_key(content, password=None)
    except (TypeError, ValueError, UnsupportedAlgorithm) as error:
        raise UnsoundError((), "is no such key", _KEY_EXPECTED) from error
    if not isinstance(key, (ec.EllipticCurvePrivateKey, rsa.RSAPrivateKey)):
        raise UnsoundError((), "has a key of another kind", _KEY_EXPECTED)
    return key


def read_certificate(content: bytes) -> x509.Certificate:
    """Return the first certificate in PEM; raises UnsoundError if there is none that can be read."""
    try:
        certificate = x509.load_pem_x509_certificate(content)
        _ = certificate.extensions, certificate.subject, certificate.public_key()  # which are read when first used
    except (ValueError, UnsupportedAlgorithm, x509.DuplicateExtension, x509.UnsupportedGeneralNameType) as error:
        raise UnsoundError((), "is no certificate that can be read", _CERTIFICATE_EXPECTED) from error
    return certificate


def self_signed(name: str, key: SigningKey, now: datetime, days: int) -> x509.Certificate:
    """Return the certificate of an authority."""
    subject = _subject(name)
    builder = _builder(subject, subject, key.public_key(), now, now + timedelta(days=days))
    usage = _key_usage(is_authority=True)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    builder = builder.add_extension(usage, critical=True)
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    return builder.add_extension(identifier, critical=False).sign(key, hashes.SHA256())


def issued(
    authority: Authority, holder: Holder, key: CertificatePublicKeyTypes, now: datetime, days: int
) -> x509.Certificate:
    """Return a certificate for a holder's public key; it does not outlive that of the authority."""
    until = min(now + timedelta(days=days), authority.certificate.not_valid_after_utc)
    builder = _builder(_subject(holder.name), authority.certificate.subject, key, now, until)
    names = [*map(_address, holder.addresses), *map(x509.UniformResourceIdentifier, holder.uris)]
    of_authority = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key())
    return (
        builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(is_authority=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage(_USES[holder.kind]), critical=False)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        .add_extension(of_authority, critical=False)
        .sign(authority.key, hashes.SHA256())
    )


def is_issued_by(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except (InvalidSignature, TypeError, ValueError, UnsupportedAlgorithm):
        return False
    return True


def holder_of(certificate: x509.Certificate) -> Holder:
    """Return what a certificate says about its holder."""
    names = [str(each.value) for each in certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
    name = names[0] if names else ""
    if _is_authority(certificate):
        return Holder(name, CertificateKind.AUTHORITY)
    try:
        others = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return Holder(name, CertificateKind.OTHER)
    hosts = others.get_values_for_type(x509.DNSName)
    addresses = map(str, others.get_values_for_type(x509.IPAddress))
    uris = others.get_values_for_type(x509.UniformResourceIdentifier)
    ids = tuple(sorted(named_ids(uris)))
    kind = (
        {CONTROLLER: CertificateKind.CONTROLLER, WEB_SERVER: CertificateKind.WEB}.get(uris[0], CertificateKind.OTHER)
        if uris
        else CertificateKind.OTHER
    )
    return Holder(name, CertificateKind.SWITCH if ids else kind, (*hosts, *addresses), ids)


def time_now() -> datetime:
    """Return the time in whole seconds, as certificates have it."""
    return datetime.now(timezone.utc).replace(microsecond=0)


def _is_authority(certificate: x509.Certificate) -> bool:
    try:
        return certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except x509.ExtensionNotFound:
        return False


def _subject(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _address(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(text))
    except ValueError:
        return x509.DNSName(text)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: CertificatePublicKeyTypes, now: datetime, until: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCKS_DIFFER_BY)
        .not_valid_after(until)
    )


def _key_usage(*, is_authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not is_authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=is_authority,
        crl_sign=is_authority,
        encipher_only=False,
        decipher_only=False,
    )
