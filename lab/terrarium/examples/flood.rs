//! What the server costs: a client that asks for page after page over many connections, and the
//! processor time that the server's thread took for each.
//!
//! `cargo run --release -p terrarium --example flood -- [PROFILE [REQUESTS [CONNECTIONS]]]`

use std::fs;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use terrarium::{Internet, InternetConfig, OracleRules, Profile, Way};

#[expect(clippy::print_stdout, reason = "the figure is what the program is for")]
fn main() -> io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let profile = arguments
        .next()
        .map_or(Ok(Profile::Micro), |name| name.parse());
    let profile: Profile = profile.map_err(io::Error::other)?;
    let mut number = |otherwise| {
        arguments
            .next()
            .and_then(|word| word.parse().ok())
            .unwrap_or(otherwise)
    };
    let (requests, connections): (usize, usize) = (number(200_000), number(64));
    let internet = Internet::new(InternetConfig {
        profile,
        hosts: 100,
        pages: Some(50),
        latency: 0.0,
        way: Way::Proxy,
        ..InternetConfig::default()
    })
    .try_start()?;
    let oracle = internet.oracle(&OracleRules::default());
    let is_plain = |url: &&String| url.starts_with("http://") && !url.ends_with("/ailing");
    let urls: Vec<&String> = oracle.keys().filter(is_plain).collect();
    let mut streams = Vec::new();
    for _ in 0..connections {
        streams.push(TcpStream::connect(internet.proxy_addr())?);
    }
    let mut buffer = vec![0; 4 << 20];
    let (mut bytes, mut turn) = (0, 0);
    let (started, before) = (Instant::now(), server_time()?);
    while turn < requests {
        for (place, stream) in streams.iter_mut().enumerate() {
            let url = urls[(turn + place) % urls.len()];
            let fields = "Accept-Encoding: gzip, br\r\nUser-Agent: flood\r\n\r\n";
            let request = format!("GET {url} HTTP/1.1\r\n{fields}");
            stream.write_all(request.as_bytes())?;
        }
        for stream in &mut streams {
            let (length, is_open) = read_answer(stream, &mut buffer)?;
            bytes += length;
            if !is_open {
                *stream = TcpStream::connect(internet.proxy_addr())?;
            }
        }
        turn += connections;
    }
    let (spent, took) = (server_time()?.saturating_sub(before), started.elapsed());
    println!(
        "{profile}: {:.2} µs of server CPU per request, {:.0} requests/s, {:.1} KB each",
        spent.as_secs_f64() * 1e6 / turn as f64,
        turn as f64 / took.as_secs_f64(),
        bytes as f64 / turn as f64 / 1e3
    );
    Ok(())
}

/// Reads one answer and says how long it was, and whether another may follow.
fn read_answer(stream: &mut TcpStream, buffer: &mut [u8]) -> io::Result<(usize, bool)> {
    let mut length = 0;
    loop {
        let read = stream.read(&mut buffer[length..])?;
        length += read;
        let text = &buffer[..length];
        let head = text.windows(4).position(|part| part == b"\r\n\r\n");
        let Some(head) = head.map(|at| at + 4).filter(|_| read > 0) else {
            if read == 0 {
                return Ok((length, false));
            }
            continue;
        };
        let fields = String::from_utf8_lossy(&text[..head]);
        let size = fields.split("Content-Length: ").nth(1);
        let size = size.and_then(|rest| rest.split("\r\n").next()?.parse::<usize>().ok());
        let is_open = !fields.contains("Connection: close");
        let is_whole = match size {
            Some(size) => length >= head + size,
            None => is_open && text.ends_with(b"\r\n0\r\n\r\n"),
        };
        if is_whole {
            return Ok((length, is_open));
        }
    }
}

/// Processor time of the thread that serves.
fn server_time() -> io::Result<Duration> {
    for task in fs::read_dir("/proc/self/task")? {
        let task = task?.path();
        if fs::read_to_string(task.join("comm"))?.trim() == "terrarium" {
            let account = fs::read_to_string(task.join("schedstat"))?;
            let spent = account.split(' ').next().and_then(|word| word.parse().ok());
            return Ok(Duration::from_nanos(spent.unwrap_or(0)));
        }
    }
    Err(io::Error::other("the server has no thread"))
}
