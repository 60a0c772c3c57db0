//! How the server proves who it is.
//!
//! Owns the three ways to check a certificate: not at all, its authority, its authority and its
//! name. Invariant: whichever way it is, the server holds the key of the certificate it shows.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use clewline_core::fleet::BusError;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::url::{CertificateCheck, DatabaseUrl};

/// What opens TLS to the server of this URL.
pub(crate) fn connector(url: &DatabaseUrl) -> Result<MakeRustlsConnect, BusError> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| BusError::Unusable(format!("TLS cannot be set up: {error}")))?;
    let config = match url.check() {
        CertificateCheck::Full => builder
            .with_root_certificates(roots(url.authorities())?)
            .with_no_client_auth(),
        check => {
            let verifier = LenientVerifier::new(url, check, provider)?;
            builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(verifier))
                .with_no_client_auth()
        }
    };
    Ok(MakeRustlsConnect::new(config))
}

/// The authorities that are trusted: only those of the file, if one is named.
fn roots(file: Option<&Path>) -> Result<RootCertStore, BusError> {
    let mut roots = RootCertStore::empty();
    let Some(path) = file else {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        return Ok(roots);
    };
    let shown = path.display();
    let text = fs::read(path).map_err(|error| {
        BusError::Unusable(format!(
            "the certificates in {shown} cannot be read: {error}; check sslrootcert in the address"
        ))
    })?;
    let own = CertificateDer::pem_slice_iter(&text).filter_map(Result::ok);
    let (added, _) = roots.add_parsable_certificates(own);
    if added == 0 {
        return Err(BusError::Unusable(format!(
            "there is no certificate in {shown}: sslrootcert must name a PEM file"
        )));
    }
    Ok(roots)
}

/// Checks less than rustls does, as `sslmode` asks for.
#[derive(Debug)]
struct LenientVerifier {
    authorities: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl LenientVerifier {
    fn new(
        url: &DatabaseUrl,
        check: CertificateCheck,
        provider: Arc<CryptoProvider>,
    ) -> Result<Self, BusError> {
        let authorities = if check == CertificateCheck::Nothing {
            None
        } else {
            let roots = Arc::new(roots(url.authorities())?);
            let builder = WebPkiServerVerifier::builder_with_provider(roots, provider.clone());
            let verifier = builder
                .build()
                .map_err(|error| BusError::Unusable(format!("TLS cannot be set up: {error}")))?;
            Some(verifier)
        };
        Ok(Self {
            authorities,
            provider,
        })
    }
}

impl ServerCertVerifier for LenientVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(authorities) = &self.authorities else {
            return Ok(ServerCertVerified::assertion());
        };
        let verdict = authorities.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        );
        match verdict {
            // rustls looks at the name last, so everything else is in order.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            verdict => verdict,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let known = &self.provider.signature_verification_algorithms;
        known.supported_schemes()
    }
}
