//! A page that tries every way out of its browser.
//!
//! Owns a forbidden address on this machine: TCP and UDP listeners that count whatever arrives. With any
//! net nothing may arrive; without nets most of it must, or the test would not notice a hole.

use std::collections::BTreeSet;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use clewline_render::{Behavior, BrowserNets, BrowserOptions, RenderBounds};

use crate::support::{Web, html, pool, run};

/// Ways that must work in a browser that nothing holds back.
const LEAST_WAYS: usize = 30;

/// Those that only some nets hold; they must be among the ways.
const HARD_WAYS: [&str; 6] = [
    "fetch",
    "web-socket",
    "shared-worker-script",
    "service-worker-script",
    "udp-stun",
    "udp-quic",
];

/// The longest that the page is kept from leaving until all these arrived.
const LONGEST_HOLD: Duration = Duration::from_secs(10);

/// How long a page may go on that must not reach anything.
const HOLD: Duration = Duration::from_secs(1);

/// How long the listeners wait for a packet before they look whether the test is over.
const PATIENCE: Duration = Duration::from_millis(50);

/// What arrived at the forbidden address.
#[derive(Default)]
struct Arrivals {
    /// Names of the ways, which stand in paths.
    ways: BTreeSet<String>,
    connections: usize,
    packets: usize,
}

/// An address that no rendering may reach.
struct ForbiddenPlace {
    arrivals: Arc<Mutex<Arrivals>>,
    is_over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
    port: u16,
}

impl ForbiddenPlace {
    fn open() -> Self {
        let (tcp, udp) = loop {
            let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
            // TCP and UDP have the same port; somebody may have taken the other one.
            if let Ok(udp) = UdpSocket::bind(tcp.local_addr().unwrap()) {
                break (tcp, udp);
            }
        };
        let port = tcp.local_addr().unwrap().port();
        let arrivals = Arc::new(Mutex::new(Arrivals::default()));
        let is_over = Arc::new(AtomicBool::new(false));
        tcp.set_nonblocking(true).unwrap();
        udp.set_read_timeout(Some(PATIENCE)).unwrap();
        let (seen, over) = (Arc::clone(&arrivals), Arc::clone(&is_over));
        let packets = thread::spawn(move || count_packets(&udp, &seen, &over));
        let (seen, over) = (Arc::clone(&arrivals), Arc::clone(&is_over));
        let connections = thread::spawn(move || accept(&tcp, &seen, &over));
        Self {
            arrivals,
            is_over,
            threads: vec![packets, connections],
            port,
        }
    }

    /// Everything that arrived, when all listeners are done.
    fn close(self) -> Arrivals {
        self.is_over.store(true, Ordering::SeqCst);
        for thread in self.threads {
            thread.join().unwrap();
        }
        std::mem::take(&mut self.arrivals.lock().unwrap())
    }
}

fn count_packets(udp: &UdpSocket, arrivals: &Mutex<Arrivals>, is_over: &AtomicBool) {
    let mut packet = [0; 2048];
    while !is_over.load(Ordering::SeqCst) {
        if let Ok((length, _)) = udp.recv_from(&mut packet) {
            let mut arrivals = arrivals.lock().unwrap();
            arrivals.packets += 1;
            // STUN has its magic number there (RFC 8489, 5); the rest is QUIC.
            let is_stun = length >= 20 && packet[4..8] == [0x21, 0x12, 0xa4, 0x42];
            let way = if is_stun { "udp-stun" } else { "udp-quic" };
            arrivals.ways.insert(way.to_owned());
        }
    }
}

fn accept(tcp: &TcpListener, arrivals: &Arc<Mutex<Arrivals>>, is_over: &AtomicBool) {
    let mut visitors = Vec::new();
    while !is_over.load(Ordering::SeqCst) {
        match tcp.accept() {
            Ok((stream, _)) => {
                arrivals.lock().unwrap().connections += 1;
                let arrivals = Arc::clone(arrivals);
                visitors.push(thread::spawn(move || serve(stream, &arrivals)));
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => thread::sleep(PATIENCE / 10),
            Err(error) => panic!("{error}"),
        }
    }
    for visitor in visitors {
        visitor.join().unwrap();
    }
}

/// Reads requests, notes their ways, and answers so that what depends on an answer goes on.
fn serve(mut stream: TcpStream, arrivals: &Mutex<Arrivals>) {
    stream.set_nonblocking(false).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(2)))
        .unwrap();
    let mut bytes = vec![0; 16 * 1024];
    let Ok(length @ 1..) = stream.read(&mut bytes) else {
        return;
    };
    let request = String::from_utf8_lossy(&bytes[..length]).into_owned();
    let path = request.split(' ').nth(1).unwrap_or_default();
    let mut words = path.trim_start_matches('/').split(['?', '/']);
    let way = match words.next() {
        _ if !request.contains(" HTTP/1.1") => "tcp-other".to_owned(),
        Some("w") => words.next().unwrap_or_default().to_owned(),
        _ => "path-other".to_owned(),
    };
    let body = body(&way);
    let is_hold = way == "hold";
    arrivals.lock().unwrap().ways.insert(way);
    let start = Instant::now();
    let has_all = || {
        let ways = &arrivals.lock().unwrap().ways;
        HARD_WAYS.iter().all(|way| ways.contains(*way))
    };
    while is_hold && start.elapsed() < LONGEST_HOLD && !has_all() {
        thread::sleep(PATIENCE);
    }
    let (kind, body) = body;
    let answer = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\
         Access-Control-Allow-Origin: *\r\nAccess-Control-Allow-Headers: *\r\n\
         Access-Control-Allow-Methods: *\r\nService-Worker-Allowed: /\r\n\r\n{body}",
        body.len()
    );
    // The browser may be gone.
    let _ = stream.write_all(answer.as_bytes());
}

fn body(way: &str) -> (&'static str, String) {
    match way {
        "worker-script" | "shared-worker-script" | "service-worker-script" => {
            let inner = way.trim_end_matches("-script");
            let script = format!("fetch('/w/{inner}-fetch').catch(() => 0)");
            ("text/javascript", script)
        }
        "module" => ("text/javascript", "import '/w/module-import'".to_owned()),
        "script" => ("text/javascript", "fetch('/w/script-fetch')".to_owned()),
        "style" => (
            "text/css",
            "@import '/w/style-import'; body { background: url(/w/style-background) } \
             @font-face { font-family: f; src: url(/w/style-font) } body { font-family: f }"
                .to_owned(),
        ),
        "frame" | "object" | "embed" | "popup" | "popup-click" => {
            let body = format!("<body><img src=/w/{way}-image>x");
            ("text/html", body)
        }
        _ => ("text/html", "<body>x".to_owned()),
    }
}

/// The page. The forbidden place is where it claims to come from, so that every way is of its own origin.
fn page(port: u16) -> String {
    include_str!("ways_out.html").replace("PORT", &port.to_string())
}

/// Renders the page and returns what arrived.
fn arrivals(nets: BrowserNets) -> Option<Arrivals> {
    let options = BrowserOptions {
        nets,
        behaviors: vec![Behavior::Autoscroll, Behavior::Autoclick],
        // Only where no namespace shields the browser, and only for this page of our own.
        no_sandbox: matches!(nets, BrowserNets::FlagsAlone | BrowserNets::Nothing),
        bounds: RenderBounds {
            wall: Duration::from_secs(40),
            cpu: Duration::from_mins(2),
            ..RenderBounds::default()
        },
        ..BrowserOptions::default()
    };
    let pool = pool(options)?;
    let place = ForbiddenPlace::open();
    let url = format!("http://127.0.0.1:{}/page", place.port);
    let web = Web::slow(&format!("http://127.0.0.1:{}/w/hold", place.port), HOLD);
    let rendering = run(pool.render(html(&url, &page(place.port)), Arc::new(web)));
    // To leave is the page's last way, so it tried all others.
    let rendering = rendering.unwrap_or_else(|error| panic!("{nets:?}: {error}"));
    let mut targets = rendering.navigated.iter();
    assert!(
        targets.any(|target| target.ends_with("/w/location")),
        "{rendering:?}"
    );
    drop(pool);
    let arrivals = place.close();
    eprintln!(
        "{nets:?}: {} ways, {} connections, {} packets: {:?}",
        arrivals.ways.len(),
        arrivals.connections,
        arrivals.packets,
        arrivals.ways
    );
    Some(arrivals)
}

fn nothing_arrives(nets: BrowserNets) {
    if let Some(arrivals) = arrivals(nets) {
        let count = (arrivals.connections, arrivals.packets);
        assert_eq!(count, (0, 0), "{nets:?}: {:?}", arrivals.ways);
    }
}

#[test]
fn nothing_leaves_through_all_nets() {
    nothing_arrives(BrowserNets::All);
}

#[test]
fn nothing_leaves_through_the_namespace_alone() {
    let options = BrowserOptions {
        nets: BrowserNets::NamespaceAlone,
        no_sandbox: true,
        ..BrowserOptions::default()
    };
    match pool(options) {
        Some(pool) if !pool.has_namespace() => {
            eprintln!("SKIPPED, although it matters: no namespaces here");
        }
        _ => nothing_arrives(BrowserNets::NamespaceAlone),
    }
}

#[test]
fn nothing_leaves_past_the_flags_alone() {
    nothing_arrives(BrowserNets::FlagsAlone);
}

#[test]
fn without_a_net_the_page_does_get_out() {
    if let Some(arrivals) = arrivals(BrowserNets::Nothing) {
        let ways = &arrivals.ways;
        assert!(ways.len() >= LEAST_WAYS, "{} ways: {ways:?}", ways.len());
        for way in HARD_WAYS {
            assert!(ways.contains(way), "{way} is not among {ways:?}");
        }
    }
}
