//! TLS for the client side.
//!
//! Owns which certificates are believed and how a failed handshake is told to people. Refuses
//! to know sockets and HTTP. Invariant: certificates are checked unless the user switched that
//! off, and even then the server must prove that it holds the key of what it shows.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use clewline_core::outcome::FailureClass;
use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, aws_lc_rs, verify_tls12_signature,
    verify_tls13_signature,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    AlertDescription, CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore,
    SignatureScheme,
};

use super::client::FetchSetupError;
use super::http2;
use crate::clock::rfc3339;
use crate::config::FetchConfig;

/// Hosts whose sessions are remembered. Each may hold several tickets of up to 64 KiB, so the
/// number is small.
const SESSIONS: usize = 256;

/// Names of a certificate that a message repeats.
const MOST_NAMES: usize = 3;

/// The protocol that every server speaks.
const HTTP_1: &[u8] = b"http/1.1";

/// What is offered to servers: configurations that share certificates and sessions.
#[derive(Clone)]
pub(crate) struct TlsOffers {
    /// HTTP/1.1 alone.
    pub(crate) http1: Arc<ClientConfig>,
    /// HTTP/2, else HTTP/1.1.
    pub(crate) http2: Arc<ClientConfig>,
}

/// Makes the configuration that all connections share.
pub(crate) fn client_config(config: &FetchConfig) -> Result<TlsOffers, FetchSetupError> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(FetchSetupError::Tls)?;
    let roots = roots(config.cacert.as_deref())?;
    let mut tls = if config.insecure {
        let verifier = Arc::new(AcceptAny::new(&provider));
        builder
            .dangerous()
            .with_custom_certificate_verifier(verifier)
            .with_no_client_auth()
    } else {
        builder.with_root_certificates(roots).with_no_client_auth()
    };
    tls.alpn_protocols = vec![HTTP_1.to_vec()];
    tls.resumption = Resumption::in_memory_sessions(SESSIONS);
    let mut both = tls.clone();
    both.alpn_protocols.insert(0, http2::ALPN.to_vec());
    Ok(TlsOffers {
        http1: Arc::new(tls),
        http2: Arc::new(both),
    })
}

/// The name that the certificate must carry: an address as an address, a host without the dot
/// that may end it (RFC 6066 section 3).
pub(crate) fn server_name(host: &str) -> Option<ServerName<'static>> {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let bare = bare.strip_suffix('.').unwrap_or(bare);
    ServerName::try_from(bare.to_owned()).ok()
}

fn roots(cacert: Option<&Path>) -> Result<RootCertStore, FetchSetupError> {
    let mut roots = RootCertStore::empty();
    roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    let Some(path) = cacert else {
        return Ok(roots);
    };
    let text = std::fs::read(path).map_err(|source| FetchSetupError::CertificateFile {
        path: path.to_owned(),
        source,
    })?;
    let own: Vec<_> = CertificateDer::pem_slice_iter(&text)
        .filter_map(Result::ok)
        .collect();
    let (added, _) = roots.add_parsable_certificates(own);
    if added == 0 {
        return Err(FetchSetupError::Certificates(path.to_owned()));
    }
    Ok(roots)
}

/// What rustls has against a handshake, if it is its word.
fn cause(error: &io::Error) -> Option<&Error> {
    error.get_ref()?.downcast_ref::<Error>()
}

/// Whether the certificate is at fault or the handshake.
pub(crate) fn class_of(error: &io::Error) -> FailureClass {
    match cause(error) {
        Some(Error::InvalidCertificate(_) | Error::NoCertificatesPresented) => {
            FailureClass::Certificate
        }
        _ => FailureClass::Tls,
    }
}

/// Says in plain words why a handshake failed.
pub(crate) fn explain(error: &io::Error) -> String {
    match cause(error) {
        Some(Error::InvalidCertificate(fault)) => certificate_fault(fault),
        Some(Error::NoCertificatesPresented) => "the server shows no certificate".to_owned(),
        Some(Error::InvalidMessage(_)) => "the server does not speak TLS on this port".to_owned(),
        Some(Error::PeerIncompatible(_)) => NOTHING_IN_COMMON.to_owned(),
        Some(Error::AlertReceived(alert)) => refusal(*alert),
        Some(other) => format!("TLS failed: {other}"),
        None if error.kind() == io::ErrorKind::UnexpectedEof => {
            "the connection closed during the TLS handshake".to_owned()
        }
        None => format!(
            "the connection failed during the TLS handshake: {}",
            error.kind()
        ),
    }
}

const NOTHING_IN_COMMON: &str = "the server offers no TLS version or cipher that is safe today";

/// Whether a server refuses a handshake because it speaks none of the protocols on offer.
pub(crate) fn wants_other_protocol(error: &io::Error) -> bool {
    let alert = Error::AlertReceived(AlertDescription::NoApplicationProtocol);
    cause(error) == Some(&alert)
}

/// What a server means that ends a handshake (RFC 8446 section 6.2).
fn refusal(alert: AlertDescription) -> String {
    use AlertDescription as Alert;
    match alert {
        Alert::ProtocolVersion | Alert::HandshakeFailure | Alert::InsufficientSecurity => {
            NOTHING_IN_COMMON.to_owned()
        }
        Alert::UnrecognisedName => "the server does not know this host name".to_owned(),
        Alert::CertificateRequired | Alert::BadCertificate | Alert::AccessDenied => {
            "the server asks for a certificate of the client, which clewline cannot send".to_owned()
        }
        other => format!("the server refused TLS: {other:?}"),
    }
}

fn certificate_fault(fault: &CertificateError) -> String {
    use CertificateError as Fault;
    let plain = match fault {
        Fault::ExpiredContext { not_after, .. } => {
            return format!("the certificate expired on {}", date(*not_after));
        }
        Fault::NotValidYetContext { not_before, .. } => {
            return format!("the certificate is not valid before {}", date(*not_before));
        }
        Fault::NotValidForNameContext { presented, .. } if !presented.is_empty() => {
            return format!(
                "the certificate is not for this host name but for {}",
                names(presented)
            );
        }
        Fault::Expired => "the certificate has expired",
        Fault::NotValidYet => "the certificate is not valid yet",
        Fault::NotValidForName | Fault::NotValidForNameContext { .. } => {
            "the certificate is not for this host name"
        }
        Fault::UnknownIssuer => {
            "the certificate was issued by an unknown authority or by the server itself"
        }
        Fault::Revoked => "the certificate was revoked",
        Fault::BadEncoding => "the certificate is malformed",
        Fault::BadSignature => "the signature of the certificate is wrong",
        Fault::InvalidPurpose | Fault::InvalidPurposeContext { .. } => {
            "the certificate is not meant for servers"
        }
        other if is_own_authority(other) => {
            "the certificate is self-signed: the server issued it itself"
        }
        other => return format!("the certificate is not accepted: {other}"),
    };
    plain.to_owned()
}

/// Whether a certificate of an authority stands where one of a server should, as one does that
/// `openssl req -x509` makes. The library that says so has no name for it that can be matched.
fn is_own_authority(fault: &CertificateError) -> bool {
    let CertificateError::Other(other) = fault else {
        return false;
    };
    format!("{other:?}").contains("CaUsedAsEndEntity")
}

/// The day of a time, `2026-01-31`.
fn date(time: UnixTime) -> String {
    let time = rfc3339(Duration::from_secs(time.as_secs()));
    time.split('T').next().unwrap_or_default().to_owned()
}

/// Names that a certificate is for, as rustls tells them: `DnsName("a.test")`.
fn names(presented: &[String]) -> String {
    let bare = |name: &String| {
        let inner = name.split_once('(').map_or(name.as_str(), |(_, rest)| rest);
        inner.trim_matches(['(', ')', '"']).to_owned()
    };
    let shown: Vec<String> = presented.iter().take(MOST_NAMES).map(bare).collect();
    let more = presented.len().saturating_sub(MOST_NAMES);
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    format!("{}{more}", shown.join(", "))
}

/// Believes every certificate, as asked for with `--insecure`.
#[derive(Debug)]
struct AcceptAny {
    algorithms: WebPkiSupportedAlgorithms,
}

impl AcceptAny {
    fn new(provider: &CryptoProvider) -> Self {
        Self {
            algorithms: provider.signature_verification_algorithms,
        }
    }
}

impl ServerCertVerifier for AcceptAny {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
