//! Certificates by name, made when they are first asked for.
//!
//! Owns the authority of an internet and what its hosts show. Invariant: certificates in memory
//! are bounded; those that were not used for a generation are made again.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::version::{TLS12, TLS13};

use crate::internet::chance::Topic;
use crate::internet::world::{Fate, HostId, World};
use crate::tls::{Authority, Certificate};

/// Certificates in each of two generations.
const GENERATION: usize = 8192;

/// The two kinds of servers.
pub(super) struct Vault {
    world: Arc<World>,
    modern: Arc<ServerConfig>,
    old: Arc<ServerConfig>,
}

impl Vault {
    /// The servers, and the certificate of their authority.
    pub(super) fn new(world: &Arc<World>) -> io::Result<(Self, String)> {
        let authority = Authority::new()?;
        let pem = authority.pem();
        let shop = Arc::new(Shop {
            world: Arc::clone(world),
            authority,
            made: Mutex::default(),
        });
        let vault = Self {
            world: Arc::clone(world),
            modern: configured(Arc::clone(&shop), &[&TLS13, &TLS12])?,
            old: configured(shop, &[&TLS12])?,
        };
        Ok((vault, pem))
    }

    /// How the host of this name speaks.
    pub(super) fn config(&self, name: Option<&str>) -> Arc<ServerConfig> {
        let host = name.and_then(|name| self.world.host_named(name.as_bytes()));
        let is_old = host.is_some_and(|host| {
            let draw = self.world.chance.draw(Topic::OldTls, u64::from(host.0), 0);
            draw.happens(self.world.shape.old_tls)
        });
        Arc::clone(if is_old { &self.old } else { &self.modern })
    }
}

fn configured(
    shop: Arc<Shop>,
    versions: &[&'static rustls::SupportedProtocolVersion],
) -> io::Result<Arc<ServerConfig>> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .map_err(io::Error::other)?
        .with_no_client_auth()
        .with_cert_resolver(shop);
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    config.ticketer = aws_lc_rs::Ticketer::new().map_err(io::Error::other)?;
    Ok(Arc::new(config))
}

#[derive(Default)]
struct Made {
    young: HashMap<u32, Arc<CertifiedKey>>,
    old: HashMap<u32, Arc<CertifiedKey>>,
}

struct Shop {
    world: Arc<World>,
    authority: Authority,
    made: Mutex<Made>,
}

impl fmt::Debug for Shop {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Shop").finish_non_exhaustive()
    }
}

impl Shop {
    fn certificate(&self, host: HostId) -> Option<Arc<CertifiedKey>> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = made.young.get(&host.0) {
            return Some(Arc::clone(known));
        }
        let key = match made.old.remove(&host.0) {
            Some(known) => known,
            None => Arc::new(self.make(host)?),
        };
        if made.young.len() >= GENERATION {
            made.old = std::mem::take(&mut made.young);
        }
        made.young.insert(host.0, Arc::clone(&key));
        Some(key)
    }

    fn make(&self, host: HostId) -> Option<CertifiedKey> {
        let kind = match (self.world.fate(host), host.0 % 3) {
            (Fate::BadCertificate, 0) => Certificate::Expired,
            (Fate::BadCertificate, 1) => Certificate::WrongHost,
            (Fate::BadCertificate, _) => Certificate::UnknownIssuer,
            _ => Certificate::Valid,
        };
        self.authority.certify(&self.world.name(host), kind).ok()
    }
}

impl ResolvesServerCert for Shop {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let host = self.world.host_named(hello.server_name()?.as_bytes())?;
        self.certificate(host)
    }
}
