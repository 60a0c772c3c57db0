use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Mutex as Guarded;

use tokio::net::UdpSocket;

use super::source::{DnsSource, ResolvConf, read_hosts};
use super::*;

const PATIENCE: Duration = Duration::from_mins(1);
const A: u16 = 1;
const AAAA: u16 = 28;

/// What the server says about a name.
#[derive(Clone)]
enum Says {
    Addresses { four: usize, six: usize, ttl: u32 },
    Code(u8),
    Nothing,
}

/// A DNS server on loopback that counts its questions.
struct NameServer {
    address: SocketAddr,
    asked: Arc<Guarded<HashMap<(String, u16), usize>>>,
}

impl NameServer {
    async fn start(names: &[(&str, Says)]) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let address = socket.local_addr().unwrap();
        let asked = Arc::<Guarded<HashMap<_, _>>>::default();
        let names: HashMap<_, _> = names
            .iter()
            .map(|(name, says)| ((*name).to_owned(), says.clone()))
            .collect();
        let counts = asked.clone();
        tokio::spawn(async move {
            let mut packet = [0; 1500];
            while let Ok((length, from)) = socket.recv_from(&mut packet).await {
                let (name, kind, end) = question(&packet[..length]);
                *counts
                    .lock()
                    .unwrap()
                    .entry((name.clone(), kind))
                    .or_default() += 1;
                let says = names.get(&name).cloned().unwrap_or(Says::Code(3));
                if let Some(answer) = answer(&packet[..end], kind, &says) {
                    socket.send_to(&answer, from).await.unwrap();
                }
            }
        });
        Self { address, asked }
    }

    fn asked(&self, name: &str) -> usize {
        let asked = self.asked.lock().unwrap();
        let count = |kind| asked.get(&(name.to_owned(), kind)).copied().unwrap_or(0);
        count(A).max(count(AAAA))
    }
}

/// The name, the type and the end of the only question.
fn question(packet: &[u8]) -> (String, u16, usize) {
    let mut at = 12;
    let mut labels = Vec::new();
    while packet[at] != 0 {
        let end = at + 1 + usize::from(packet[at]);
        labels.push(String::from_utf8(packet[at + 1..end].to_vec()).unwrap());
        at = end;
    }
    let kind = u16::from_be_bytes([packet[at + 1], packet[at + 2]]);
    (labels.join(".").to_lowercase(), kind, at + 5)
}

fn answer(query: &[u8], kind: u16, says: &Says) -> Option<Vec<u8>> {
    let (count, code, ttl) = match says {
        Says::Addresses { four, six, ttl } => (if kind == A { *four } else { *six }, 0, *ttl),
        Says::Code(code) => (0, *code, 0),
        Says::Nothing => return None,
    };
    let mut packet = query.to_vec();
    packet[2..12].copy_from_slice(&[0x81, 0x80 | code, 0, 1, 0, count as u8, 0, 0, 0, 0]);
    for number in 1..=count {
        let mut address = vec![0; if kind == A { 4 } else { 16 }];
        address[0] = if kind == A { 192 } else { 0x20 };
        *address.last_mut().unwrap() = number as u8;
        packet.extend_from_slice(&[0xc0, 12, 0, kind as u8, 0, 1]);
        packet.extend_from_slice(&ttl.to_be_bytes());
        packet.extend_from_slice(&[0, address.len() as u8]);
        packet.extend_from_slice(&address);
    }
    Some(packet)
}

fn says(four: usize, six: usize, ttl: u32) -> Says {
    Says::Addresses { four, six, ttl }
}

fn shown(found: &FoundAddresses) -> String {
    let shown: Vec<_> = found.addresses.iter().map(ToString::to_string).collect();
    shown.join(" ")
}

#[tokio::test]
async fn addresses_come_ipv4_first_and_bounded() {
    let server = NameServer::start(&[
        ("both.test", says(2, 1, 300)),
        ("four.test", says(1, 0, 300)),
        ("six.test", says(0, 1, 300)),
        ("many.test", says(20, 20, 300)),
        ("xn--bcher-kva.test", says(1, 0, 300)),
        ("_odd_.test", says(1, 0, 300)),
    ])
    .await;
    let dns = Dns::new(Some(server.address), PATIENCE);
    for (host, expected) in [
        ("both.test", "192.0.0.1 192.0.0.2 2000::1"),
        ("both.test.", "192.0.0.1 192.0.0.2 2000::1"),
        ("four.test", "192.0.0.1"),
        ("six.test", "2000::1"),
        ("xn--bcher-kva.test", "192.0.0.1"),
        ("_odd_.test", "192.0.0.1"),
    ] {
        assert_eq!(shown(&dns.resolve(host).await.unwrap()), expected, "{host}");
    }
    let many = dns.resolve("many.test").await.unwrap();
    assert_eq!(many.addresses.len(), ADDRESSES);
    assert_eq!(
        many.addresses
            .iter()
            .filter(|address| address.is_ipv4())
            .count(),
        ADDRESSES / 2
    );
}

#[tokio::test]
async fn the_time_to_live_is_kept_within_bounds() {
    let server = NameServer::start(&[
        ("short.test", says(1, 1, 0)),
        ("usual.test", says(1, 1, 300)),
        ("long.test", says(1, 1, 10_000_000)),
    ])
    .await;
    let dns = Dns::new(Some(server.address), PATIENCE);
    for (host, expected) in [
        ("short.test", 30),
        ("usual.test", 300),
        ("long.test", 86_400),
    ] {
        let before = Instant::now();
        let until = dns.resolve(host).await.unwrap().until;
        let ttl = until.duration_since(before).as_secs_f64();
        // Between question and answer some time passes on a busy machine.
        assert!(
            (f64::from(expected) - 2.0..f64::from(expected) + 60.0).contains(&ttl),
            "{host}: {ttl}"
        );
    }
}

#[tokio::test]
async fn failures_by_kind_and_remembered() {
    let server = NameServer::start(&[
        ("empty.test", says(0, 0, 0)),
        ("broken.test", Says::Code(2)),
        ("refused.test", Says::Code(5)),
    ])
    .await;
    let dns = Dns::new(Some(server.address), PATIENCE);
    for host in ["missing.test", "empty.test"] {
        assert_eq!(
            dns.resolve(host).await.unwrap_err(),
            Unresolved::NotFound,
            "{host}"
        );
    }
    for host in ["broken.test", "refused.test"] {
        let error = dns.resolve(host).await.unwrap_err();
        assert!(matches!(error, Unresolved::Server(_)), "{host}: {error:?}");
    }
    for host in ["missing.test", "empty.test", "broken.test"] {
        let before = server.asked(host);
        assert!(dns.resolve(host).await.is_err());
        assert_eq!(server.asked(host), before, "{host} is asked only once");
    }
}

#[tokio::test]
async fn silence_is_a_failure_in_time() {
    let server = NameServer::start(&[("silent.test", Says::Nothing)]).await;
    let dns = Dns::new(Some(server.address), Duration::from_millis(100));
    let error = dns.resolve("silent.test").await.unwrap_err();
    assert_eq!(error, Unresolved::Timeout);
    let asked = server.asked("silent.test");
    assert!(dns.resolve("silent.test").await.is_err());
    assert_eq!(server.asked("silent.test"), asked);
}

#[tokio::test]
async fn many_at_once_ask_once() {
    let server = NameServer::start(&[("busy.test", says(1, 1, 300))]).await;
    let dns = Dns::new(Some(server.address), PATIENCE);
    let asking = (0..50).map(|_| dns.resolve("busy.test"));
    for found in futures_util::future::join_all(asking).await {
        assert_eq!(shown(&found.unwrap()), "192.0.0.1 2000::1");
    }
    assert_eq!(server.asked("busy.test"), 1);
}

#[tokio::test]
async fn whoever_gives_up_does_not_spoil_it_for_others() {
    let server = NameServer::start(&[("busy.test", says(1, 0, 300))]).await;
    let dns = Dns::new(Some(server.address), PATIENCE);
    {
        let mut given_up = std::pin::pin!(dns.resolve("busy.test"));
        assert!(futures_util::poll!(given_up.as_mut()).is_pending());
    }
    assert_eq!(shown(&dns.resolve("busy.test").await.unwrap()), "192.0.0.1");
}

#[tokio::test]
async fn names_of_this_machine_are_never_asked_about() {
    let server = NameServer::start(&[]).await;
    let dns = Dns::new(Some(server.address), PATIENCE);
    for host in ["localhost", "a.localhost", "localhost."] {
        assert_eq!(
            shown(&dns.resolve(host).await.unwrap()),
            "127.0.0.1 ::1",
            "{host}"
        );
    }
    assert_eq!(shown(&dns.resolve("[::1]").await.unwrap()), "::1");
    assert!(server.asked.lock().unwrap().is_empty());
    assert!(dns.resolve("notlocalhost").await.is_err());
    assert_eq!(server.asked("notlocalhost"), 1);
}

#[tokio::test]
async fn short_names_are_searched_and_the_hosts_file_comes_first() {
    let server = NameServer::start(&[
        ("web.corp.test", says(1, 0, 300)),
        ("web.test", says(0, 0, 300)),
        ("own.test", says(1, 0, 300)),
    ])
    .await;
    let conf = ResolvConf {
        servers: vec![server.address],
        search: vec!["corp.test".into()],
        dots: 1,
    };
    let source = DnsSource::with(&conf, read_hosts("203.0.113.1 own.test"), PATIENCE);
    let (addresses, _) = source.ask("web", PATIENCE).await.unwrap();
    assert_eq!(addresses.len(), 1);
    assert!(source.ask("web.test", PATIENCE).await.is_err());
    assert_eq!(server.asked("web.test.corp.test"), 0);
    let (addresses, _) = source.ask("own.test.", PATIENCE).await.unwrap();
    assert_eq!(addresses[0].to_string(), "203.0.113.1");
    assert_eq!(server.asked("own.test"), 0);
}

#[tokio::test]
async fn without_servers_the_system_is_asked() {
    let source = DnsSource::with(&ResolvConf::read(""), read_hosts(""), PATIENCE);
    let (addresses, ttl) = source.ask("127.0.0.5", PATIENCE).await.unwrap();
    assert_eq!(
        (addresses[0].to_string().as_str(), ttl.as_secs()),
        ("127.0.0.5", 60)
    );
}

#[test]
fn the_cache_is_bounded_and_forgets() {
    let mut cache = Cache::default();
    let now = Instant::now();
    let slot = cache.slot("a.test", now);
    slot.set((Err(Unresolved::NotFound), now + FAILURE_TTL))
        .unwrap();
    assert!(Arc::ptr_eq(&slot, &cache.slot("a.test", now)));
    assert!(!Arc::ptr_eq(
        &slot,
        &cache.slot("a.test", now + FAILURE_TTL)
    ));
    for number in 0..3 * GENERATION {
        cache.slot(&format!("{number}.test"), now);
    }
    assert!(cache.young.len() + cache.old.len() <= 2 * GENERATION);
}

#[test]
fn a_generation_that_is_still_used_survives() {
    let mut cache = Cache::default();
    let now = Instant::now();
    let slot = cache.slot("kept.test", now);
    for number in 0..3 * GENERATION {
        cache.slot(&format!("{number}.test"), now);
        if number % 1000 == 0 {
            assert!(Arc::ptr_eq(&slot, &cache.slot("kept.test", now)));
        }
    }
}

#[test]
fn resolv_conf_is_read_leniently() {
    let conf = ResolvConf::read(
        "# comment\nnameserver 192.0.2.1\nnameserver ::1 # local\nnameserver nonsense\n\
         ; more\nsearch a.test b.test\noptions rotate no-such-option ndots:2 trust-ad\nsortlist x\n",
    );
    let expected = ResolvConf {
        servers: vec!["192.0.2.1:53".parse().unwrap(), "[::1]:53".parse().unwrap()],
        search: vec!["a.test".into(), "b.test".into()],
        dots: 2,
    };
    assert_eq!(conf, expected);
    assert!(ResolvConf::read("options edns0\n").servers.is_empty());
    let four = "nameserver 192.0.2.1\n".repeat(4);
    assert_eq!(ResolvConf::read(&four).servers.len(), 3);
}

#[test]
fn hosts_files_name_addresses() {
    let hosts = read_hosts("192.0.2.1 A.test b.test # c.test\nnonsense d.test\n::1 a.test\n");
    assert_eq!(hosts.len(), 2);
    assert_eq!(hosts["a.test"].len(), 2);
    assert_eq!(hosts["b.test"], ["192.0.2.1".parse::<IpAddr>().unwrap()]);
}
