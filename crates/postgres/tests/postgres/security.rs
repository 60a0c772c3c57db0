//! Passwords and certificates.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use clewline_core::fleet::BusError;
use clewline_postgres::{DatabaseUrl, FleetServer};
use fieldwork::postgres::Server;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

pub(crate) fn password_file(folder: &Path, text: &str, mode: u32) -> PathBuf {
    let path = folder.join(format!("passwords-{mode:o}"));
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    path
}

fn refusal(url: &str) -> String {
    match FleetServer::connect(url).err() {
        Some(BusError::Unusable(text)) => text,
        other => panic!("{url}: {other:?}"),
    }
}

#[test]
fn passwords_come_from_a_file_that_nobody_else_can_read() {
    let Some(server) = Server::start() else {
        return;
    };
    server.sql("alter user clewline password 'sesame:1'");
    let place = tempfile::tempdir().unwrap();
    let port = server.port();
    let url = |file: &Path| {
        format!(
            "{}?passfile={}",
            server.tcp_url("127.0.0.1"),
            file.display()
        )
    };
    let line = format!("127.0.0.1:{port}:clewline:clewline:sesame\\:1\n");
    let good = password_file(place.path(), &line, 0o600);
    FleetServer::connect(&url(&good)).unwrap();
    let open = password_file(place.path(), &line, 0o644);
    let text = refusal(&url(&open));
    assert!(text.contains("chmod 600"), "{text}");
    let wrong = password_file(place.path(), "*:*:*:*:guess\n", 0o400);
    let text = refusal(&url(&wrong));
    assert!(
        text.contains("PGPASSWORD") && !text.contains("guess"),
        "{text}"
    );
    let text = refusal(&url(&place.path().join("missing")));
    assert!(text.contains("PGPASSWORD"), "{text}");
}

#[test]
fn what_people_must_mend_is_said_with_what_to_do() {
    let Some(server) = Server::start() else {
        return;
    };
    let text = refusal(&server.url().replace("/clewline?", "/nowhere?"));
    assert!(text.contains("createdb"), "{text}");
    server.sql("create user guest");
    let text = refusal(&server.url().replace("clewline@", "guest@"));
    assert!(text.contains("right to create a schema"), "{text}");
    FleetServer::connect(&server.url()).unwrap();
    let text = refusal(&server.url().replace("clewline@", "guest@"));
    assert!(text.contains("all rights on the schema"), "{text}");
    let text = refusal(&server.url().replace("clewline@", "nobody@"));
    assert!(text.contains("check the user"), "{text}");
    server.sql("update clewline.version set number = 9");
    let text = refusal(&server.url());
    assert!(
        text.contains("number 9") && text.contains("update clewline"),
        "{text}"
    );
}

#[test]
fn an_address_shows_no_secret() {
    let url = DatabaseUrl::parse("postgres://me@db.example/x?passfile=/secret").unwrap();
    assert_eq!(url.to_string(), "postgres://me@db.example/x");
    assert!(!format!("{url:?}").contains("secret"));
    let text = refusal("postgres://me:hunter2@127.0.0.1/x");
    assert!(
        text.contains("PGPASSWORD") && !text.contains("hunter2"),
        "{text}"
    );
}

#[test]
fn the_server_proves_its_name() {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &authority).unwrap();
    let files = [
        ("server.crt", certificate.pem()),
        ("server.key", key.serialize_pem()),
    ];
    let files: Vec<(&str, &[u8])> = files
        .iter()
        .map(|(name, text)| (*name, text.as_bytes()))
        .collect();
    let Some(server) = Server::configured(&[("ssl", "on")], &files) else {
        return;
    };
    server.sql("alter user clewline password 'open'");
    let place = tempfile::tempdir().unwrap();
    let passwords = password_file(place.path(), "*:*:*:*:open\n", 0o600);
    let roots = place.path().join("roots.pem");
    fs::write(&roots, authority.pem()).unwrap();
    let url = |host: &str, mode: &str| {
        let (base, passwords) = (server.tcp_url(host), passwords.display());
        format!("{base}?passfile={passwords}&sslmode={mode}")
    };
    let with_roots =
        |host: &str, mode: &str| format!("{}&sslrootcert={}", url(host, mode), roots.display());
    FleetServer::connect(&with_roots("localhost", "verify-full")).unwrap();
    let text = refusal(&with_roots("127.0.0.1", "verify-full"));
    assert!(text.contains("check the host name"), "{text}");
    FleetServer::connect(&with_roots("127.0.0.1", "verify-ca")).unwrap();
    let text = refusal(&url("localhost", "verify-full"));
    assert!(
        text.contains("sslrootcert"),
        "its authority is not known: {text}"
    );
    let text = refusal(&url("localhost", "verify-ca"));
    assert!(text.contains("sslrootcert"), "{text}");
    FleetServer::connect(&url("127.0.0.1", "require")).unwrap();
    let ways = server.sql("select count(*) from pg_stat_ssl where ssl");
    assert_eq!(ways, "0", "all of them are closed by now");
    drop(server);
    let Some(plain) = Server::start() else {
        return;
    };
    let bare = format!("{}?sslmode=require", plain.tcp_url("127.0.0.1"));
    let text = refusal(&bare);
    assert!(text.contains("no TLS"), "{text}");
}
