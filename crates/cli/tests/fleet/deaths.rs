//! A page that kills each worker that reads it is given up, and everything else is fetched.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use clewline_core::outcome::FailureClass;

use super::*;

const POISON: &str = "/poison";
const PAGES: [&str; 3] = ["/one", "/two", "/three"];

/// A site on loopback, one page of which begins an answer that never ends.
struct PoisonSite {
    address: SocketAddr,
    /// How often that page was asked for.
    asked: Arc<AtomicU64>,
}

impl PoisonSite {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let count = Arc::clone(&count);
                // A worker that is killed leaves a broken connection; that is what is tested.
                std::thread::spawn(move || answer(stream, &count).ok());
            }
        });
        Self { address, asked }
    }
}

fn answer(mut stream: TcpStream, asked: &AtomicU64) -> std::io::Result<()> {
    let mut request = BufReader::new(stream.try_clone()?);
    let mut first = String::new();
    request.read_line(&mut first)?;
    let mut line = String::new();
    while request.read_line(&mut line)? > 2 {
        line.clear();
    }
    let path = first.split(' ').nth(1).unwrap_or_default();
    let (status, body, length) = match path {
        "/" => {
            let links = PAGES.iter().chain([&POISON]);
            let links = links.map(|path| format!("<a href='{path}'>{path}</a>"));
            let links = links.collect::<Vec<_>>().concat();
            let length = links.len();
            ("200 OK", links, length)
        }
        POISON => {
            asked.fetch_add(1, Ordering::SeqCst);
            ("200 OK", "<p>".to_owned(), 1000)
        }
        path if PAGES.contains(&path) => ("200 OK", path.to_owned(), path.len()),
        _ => ("404 Not Found", String::new(), 0),
    };
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{body}"
    )?;
    if path == POISON {
        stream.read_to_end(&mut Vec::new())?;
    }
    Ok(())
}

/// The boards of all workers on a machine, by the rules of `state/leases`: a head of 24 bytes, then
/// places of 32, of which the one at 24 says that the answer has begun.
fn boards(machine: &Path) -> Vec<(PathBuf, bool)> {
    let workers = std::fs::read_dir(machine.join("workers"));
    let boards = workers.into_iter().flatten().flatten();
    boards
        .map(|worker| {
            let board = std::fs::read(worker.path().join("state/leases")).unwrap_or_default();
            let mut places = board.get(24..).unwrap_or_default().chunks_exact(32);
            (worker.path(), places.any(|place| place[24] == 1))
        })
        .collect()
}

#[test]
fn a_page_that_kills_every_worker_is_given_up_after_three_deaths() {
    let Some(database) = Server::start() else {
        return;
    };
    let (site, place) = (PoisonSite::start(), tempfile::tempdir().unwrap());
    let machine = place.path().join("machine");
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_clewline"));
        command.current_dir(place.path()).args(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(Stdio::piped()).spawn().unwrap()
    };
    let (root, url) = (format!("http://{}/", site.address), database.url());
    let worker = || {
        let fleet = ["--fleet", &url, "--job", "poison", "--lease", "1s"];
        let rest = ["--timeout", "20s", "--tries", "1", "-o", "machine", "-q"];
        run(&[&[root.as_str()], &fleet[..], &rest].concat())
    };
    for death in 1..=3 {
        let known: HashSet<PathBuf> = boards(&machine).into_iter().map(|board| board.0).collect();
        let mut worker = worker();
        let begun = Instant::now();
        let reads = |(board, reads): &(PathBuf, bool)| *reads && !known.contains(board);
        while !boards(&machine).iter().any(reads) || site.asked.load(Ordering::SeqCst) < death {
            assert!(begun.elapsed() < PATIENCE, "death {death}: it never read");
            std::thread::sleep(GLANCE);
        }
        worker.kill().unwrap();
        worker.wait().unwrap();
    }
    end(worker());
    assert_eq!(site.asked.load(Ordering::SeqCst), 3);
    end(run(&[
        "fleet", "merge", &url, "--job", "poison", "-o", "merged", "machine",
    ]));
    let urls = place.path().join("merged").join(urls::FILE);
    let records: Vec<Record> = records(&urls).unwrap().map(Result::unwrap).collect();
    let of = |path: &str| {
        let mut of_it = records.iter().filter(|record| record.url.path() == path);
        let only = of_it.next().unwrap();
        assert!(of_it.next().is_none(), "{path} twice");
        only
    };
    let poison = of(POISON);
    assert_eq!(poison.failure, Some(FailureClass::Internal));
    let why = poison.error.as_deref().unwrap();
    assert!(why.contains("died three times"), "{why}");
    for path in PAGES {
        assert_eq!(of(path).outcome, OutcomeKind::Fetched);
    }
}
