//! Where a database is: URLs as libpq writes them.
//!
//! Owns which parts of a URL count and what they mean when they are missing. Hosts, ports and most
//! parameters are read by tokio-postgres; how certificates are checked and where passwords come
//! from is decided here, because it does not know either. Invariants: a URL never carries a
//! password; a host that is not this machine is trusted only with a certificate for its name,
//! unless the URL says otherwise.

use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clewline_core::fleet::BusError;
use percent_encoding::percent_decode_str;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};

use crate::password::PasswordSource;

/// Where Debian's server listens if a URL names no host.
#[cfg(unix)]
const SOCKETS: &str = "/var/run/postgresql";

/// How long one host may take to answer, if the URL does not say.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How certificates are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CertificateCheck {
    /// Not at all.
    Nothing,
    /// It must come from a known authority.
    Authority,
    /// It must also be made for the host.
    Full,
}

/// The address of a database.
#[derive(Clone)]
pub struct DatabaseUrl {
    config: Config,
    check: CertificateCheck,
    authorities: Option<PathBuf>,
    passwords: PasswordSource,
    /// The URL without anything that could be a secret.
    shown: String,
}

impl DatabaseUrl {
    /// Reads a URL.
    pub fn parse(text: &str) -> Result<Self, BusError> {
        let (scheme, rest) = text.split_once("://").unwrap_or(("", text));
        if !matches!(scheme, "postgres" | "postgresql") {
            return Err(unusable(
                "the address of a fleet's database begins with postgres://, for example \
                 postgres://crawler@db.example/clewline",
            ));
        }
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let authority = place.split('/').next().unwrap_or_default();
        let user = authority.rsplit_once('@').map_or("", |(user, _)| user);
        let settings = Settings::read(query)?;
        if user.contains(':') || settings.has_password {
            return Err(unusable(
                "the address of the fleet's database has a password in it, where others can read \
                 it: take it out, and put it into PGPASSWORD or ~/.pgpass",
            ));
        }
        let shown = format!("{scheme}://{place}");
        let plain = format!("{scheme}://{place}?{}", settings.others.join("&"));
        let config = plain.parse::<Config>().map_err(|error| {
            let reason = std::error::Error::source(&error).map(ToString::to_string);
            let reason = reason.unwrap_or_else(|| error.to_string());
            BusError::Unusable(format!(
                "the address of the fleet's database cannot be read: {reason}"
            ))
        })?;
        Self::complete(config, settings, shown)
    }

    fn complete(mut config: Config, settings: Settings, shown: String) -> Result<Self, BusError> {
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            name_usual_host(&mut config);
        }
        // With several hosts, one of them may be a replica that only reads.
        if config.get_hosts().len() > 1
            && config.get_target_session_attrs() == TargetSessionAttrs::Any
        {
            config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        if config.get_application_name().is_none() {
            config.application_name("clewline");
        }
        let mode = settings.mode.as_deref();
        let (ssl, check) = tls_mode(mode, &config, settings.authorities.is_some())?;
        config.ssl_mode(ssl);
        Ok(Self {
            config,
            check,
            authorities: settings.authorities,
            passwords: PasswordSource::from_environment(settings.passwords),
            shown,
        })
    }

    /// What tokio-postgres needs, with the password as it is now.
    pub(crate) fn config(&self) -> Config {
        let mut config = self.config.clone();
        if let Some(password) = self.passwords.find(&config) {
            config.password(password);
        }
        config
    }

    /// How certificates are checked.
    pub(crate) const fn check(&self) -> CertificateCheck {
        self.check
    }

    /// The file with the authorities that are trusted, if not the usual ones.
    pub(crate) fn authorities(&self) -> Option<&Path> {
        self.authorities.as_deref()
    }

    /// Why the password file was not used, if it was not.
    pub(crate) fn password_complaint(&self) -> Option<String> {
        self.passwords.complaint()
    }
}

impl fmt::Display for DatabaseUrl {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.shown)
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "DatabaseUrl({})", self.shown)
    }
}

/// The parameters that are read here, and the others as they are.
#[derive(Default)]
struct Settings<'a> {
    mode: Option<String>,
    authorities: Option<PathBuf>,
    passwords: Option<PathBuf>,
    has_password: bool,
    others: Vec<&'a str>,
}

impl<'a> Settings<'a> {
    fn read(query: &'a str) -> Result<Self, BusError> {
        let mut settings = Self::default();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = percent_decode_str(value).decode_utf8_lossy().into_owned();
            match name {
                "sslmode" => settings.mode = Some(value),
                // The word stands for the authorities that everybody knows.
                "sslrootcert" if value == "system" => {}
                "sslrootcert" => settings.authorities = Some(value.into()),
                "passfile" => settings.passwords = Some(value.into()),
                "password" | "sslpassword" => settings.has_password = true,
                "sslcert" | "sslkey" => {
                    return Err(unusable(
                        "clewline has no client certificates for PostgreSQL: take sslcert and \
                         sslkey out of the address, and let the server ask for a password",
                    ));
                }
                _ => settings.others.push(pair),
            }
        }
        Ok(settings)
    }
}

fn tls_mode(
    mode: Option<&str>,
    config: &Config,
    has_authorities: bool,
) -> Result<(SslMode, CertificateCheck), BusError> {
    let addresses = config.get_hostaddrs();
    // PostgreSQL has no TLS on sockets.
    if addresses.is_empty() && config.get_hosts().iter().all(is_socket) {
        return Ok((SslMode::Disable, CertificateCheck::Nothing));
    }
    let stays_here = config.get_hosts().iter().all(stays_on_machine)
        && addresses.iter().all(IpAddr::is_loopback);
    match mode {
        None if stays_here => Ok((SslMode::Prefer, CertificateCheck::Nothing)),
        None | Some("verify-full") => Ok((SslMode::Require, CertificateCheck::Full)),
        Some("verify-ca") => Ok((SslMode::Require, CertificateCheck::Authority)),
        // As libpq does it: whoever names authorities wants them to be asked.
        Some("require") if has_authorities => Ok((SslMode::Require, CertificateCheck::Authority)),
        Some("require") => Ok((SslMode::Require, CertificateCheck::Nothing)),
        Some("prefer") => Ok((SslMode::Prefer, CertificateCheck::Nothing)),
        Some("disable") => Ok((SslMode::Disable, CertificateCheck::Nothing)),
        Some(other) => Err(BusError::Unusable(format!(
            "sslmode={other} is not known: choose verify-full, verify-ca, require, prefer or disable"
        ))),
    }
}

/// Where the database is if nobody says it, as libpq has it.
#[cfg(unix)]
fn name_usual_host(config: &mut Config) {
    config.host_path(SOCKETS);
}

#[cfg(not(unix))]
fn name_usual_host(config: &mut Config) {
    config.host("localhost");
}

fn is_socket(host: &Host) -> bool {
    !matches!(host, Host::Tcp(_))
}

fn stays_on_machine(host: &Host) -> bool {
    match host {
        #[cfg(unix)]
        Host::Unix(_) => true,
        Host::Tcp(name) => {
            let bare = name.trim_start_matches('[').trim_end_matches(']');
            name == "localhost"
                || bare
                    .parse()
                    .is_ok_and(|address: IpAddr| address.is_loopback())
        }
    }
}

fn unusable(text: &str) -> BusError {
    BusError::Unusable(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modes(text: &str) -> (SslMode, CertificateCheck) {
        let url = DatabaseUrl::parse(text).unwrap();
        (url.config.get_ssl_mode(), url.check)
    }

    #[test]
    fn another_machine_is_trusted_only_by_its_certificate() {
        use CertificateCheck::{Authority, Full, Nothing};
        for (text, expected) in [
            ("postgres://me@db.example/x", (SslMode::Require, Full)),
            ("postgresql://10.1.2.3:6000/x", (SslMode::Require, Full)),
            (
                "postgres://localhost,db.example/x",
                (SslMode::Require, Full),
            ),
            ("postgres://localhost/x", (SslMode::Prefer, Nothing)),
            ("postgres://127.0.0.1:5/x", (SslMode::Prefer, Nothing)),
            ("postgres://[::1]/x", (SslMode::Prefer, Nothing)),
            ("postgres:///x?host=/tmp", (SslMode::Disable, Nothing)),
            ("postgres:///x", (SslMode::Disable, Nothing)),
            (
                "postgres://localhost/x?hostaddr=10.0.0.1",
                (SslMode::Require, Full),
            ),
            (
                "postgres://db/x?sslmode=verify-ca",
                (SslMode::Require, Authority),
            ),
            (
                "postgres://db/x?sslmode=require",
                (SslMode::Require, Nothing),
            ),
            (
                "postgres://db/x?sslmode=require&sslrootcert=a.pem",
                (SslMode::Require, Authority),
            ),
            ("postgres://db/x?sslmode=prefer", (SslMode::Prefer, Nothing)),
            (
                "postgres://db/x?sslmode=disable",
                (SslMode::Disable, Nothing),
            ),
        ] {
            assert_eq!(modes(text), expected, "{text}");
        }
    }

    #[test]
    fn a_password_in_a_url_is_refused_and_not_repeated() {
        for text in [
            "postgres://me:hunter2@db.example/x",
            "postgres://db.example/x?password=hunter2",
        ] {
            let error = DatabaseUrl::parse(text).unwrap_err().to_string();
            assert!(error.contains(".pgpass"), "{error}");
            assert!(!error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn what_is_not_known_is_refused() {
        for (text, word) in [
            ("mysql://db/x", "postgres://"),
            ("postgres://db/x?sslmode=allow", "verify-full"),
            ("postgres://db/x?sslcert=a", "sslcert"),
            ("postgres://db/x?colour=red", "colour"),
        ] {
            let error = DatabaseUrl::parse(text).unwrap_err().to_string();
            assert!(error.contains(word), "{error}");
        }
    }

    #[test]
    fn several_hosts_ask_for_the_one_that_writes() {
        let url = DatabaseUrl::parse("postgres://a.example,b.example/x").unwrap();
        let wanted = url.config.get_target_session_attrs();
        assert_eq!(wanted, TargetSessionAttrs::ReadWrite);
        assert_eq!(url.config.get_application_name(), Some("clewline"));
    }
}
