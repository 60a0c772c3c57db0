//! The web's own certificate authority and the certificates it hands to sites.
//!
//! Owns keys and certificates, good and bad. Refuses to know connections. Invariant: everything
//! is made at start and lives in memory only; no key is ever written anywhere.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio_rustls::TlsAcceptor;

/// What kind of certificate a site shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Certificate {
    /// Signed by the web's authority, for the site's name.
    Valid,
    /// Its time is over.
    Expired,
    /// Its time has not come.
    NotYetValid,
    /// Signed by itself.
    SelfSigned,
    /// Signed by the authority for another name, `wrong.invalid`.
    WrongHost,
    /// Signed by an authority nobody knows.
    UnknownIssuer,
}

/// An authority that signs for the sites of one web.
pub(crate) struct Authority {
    known: CertifiedIssuer<'static, KeyPair>,
    unknown: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            known: issuer("Terrarium")?,
            unknown: issuer("Stranger")?,
        })
    }

    pub(crate) fn pem(&self) -> String {
        self.known.pem()
    }

    /// An acceptor that shows each of these sites' certificates to those who ask for its name.
    pub(crate) fn acceptor(&self, sites: &[(&str, Certificate)]) -> io::Result<TlsAcceptor> {
        let mut shop = Shop::default();
        for (name, kind) in sites {
            let key = Arc::new(self.certify(name, *kind)?);
            shop.first.get_or_insert_with(|| Arc::clone(&key));
            shop.by_name.insert((*name).to_owned(), key);
        }
        let provider = Arc::new(aws_lc_rs::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(shop));
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(TlsAcceptor::from(Arc::new(config)))
    }

    /// A certificate of this kind for a name, with its key.
    pub(crate) fn certify(&self, name: &str, kind: Certificate) -> io::Result<CertifiedKey> {
        let subject = if kind == Certificate::WrongHost {
            "wrong.invalid"
        } else {
            name
        };
        let mut params = CertificateParams::new([subject.to_owned()]).map_err(io::Error::other)?;
        let (from, until) = match kind {
            Certificate::Expired => (2001, 2002),
            Certificate::NotYetValid => (2998, 2999),
            _ => (2001, 2999),
        };
        params.not_before = rcgen::date_time_ymd(from, 1, 1);
        params.not_after = rcgen::date_time_ymd(until, 1, 1);
        let key = KeyPair::generate().map_err(io::Error::other)?;
        let signed = match kind {
            Certificate::SelfSigned => params.self_signed(&key),
            Certificate::UnknownIssuer => params.signed_by(&key, &self.unknown),
            _ => params.signed_by(&key, &self.known),
        };
        let chain = vec![signed.map_err(io::Error::other)?.der().clone()];
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let key = aws_lc_rs::sign::any_supported_type(&key).map_err(io::Error::other)?;
        Ok(CertifiedKey::new(chain, key))
    }
}

fn issuer(name: &str) -> io::Result<CertifiedIssuer<'static, KeyPair>> {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(DnType::CommonName, name);
    let key = KeyPair::generate().map_err(io::Error::other)?;
    CertifiedIssuer::self_signed(params, key).map_err(io::Error::other)
}

/// Certificates by the name the client asks for; without a known name, the first.
#[derive(Debug, Default)]
struct Shop {
    by_name: HashMap<String, Arc<CertifiedKey>>,
    first: Option<Arc<CertifiedKey>>,
}

impl ResolvesServerCert for Shop {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let name = hello.server_name().unwrap_or_default();
        let found = crate::web::town::by_name(name, |name| self.by_name.get(name));
        found.or(self.first.as_ref()).map(Arc::clone)
    }
}
