//! Pages that attack their browser, and browsers that die.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clewline_render::{BrowserOptions, BrowserPool, RenderBounds, RenderError, Rendering};
use fieldwork::processes::{browsers_of, is_running, kill};

use crate::support::{Web, pool, render, run};

/// What a browser costs at most; the figures are small so that attacks end soon.
fn narrow() -> BrowserOptions {
    BrowserOptions {
        bounds: RenderBounds {
            wall: Duration::from_mins(1),
            cpu: Duration::from_secs(6),
            memory: 500 * 1024 * 1024,
            dom: 1024 * 1024,
            processes: 40,
            ..RenderBounds::default()
        },
        ..BrowserOptions::default()
    }
}

fn attack(pool: &BrowserPool, body: &str) -> Result<Rendering, RenderError> {
    let web = Arc::new(Web::default());
    let attacked = run(render(pool, body, &web));
    eprintln!(
        "{:.60}: {:?}",
        body,
        attacked
            .as_ref()
            .map(|rendering| (rendering.cpu, rendering.html.len()))
    );
    // Whatever it was, it costs this page alone.
    let next = run(render(
        pool,
        "<body><script>document.write('fine')</script>",
        &web,
    ));
    let next = next.unwrap_or_else(|error| panic!("after {body}: {error}"));
    assert!(next.html.contains("fine"), "{next:?}");
    attacked
}

#[test]
fn attacks_cost_one_rendering() {
    use RenderError::{Crashed, TimedOut, TooMuchCpu, TooMuchMemory};
    let Some(pool) = pool(narrow()) else {
        return;
    };
    for body in [
        // Growth of the heap.
        "<body><script>const all = []; for (;;) all.push(new Array(1000).fill({}).map(x => ({x})))</script>",
        // Growth outside of the heap.
        "<body><script>const all = []; setInterval(() => all.push(new Uint8Array(2e7).fill(1)), 1)</script>",
        "<body><script>const all = []; for (;;) all.push(new Uint8Array(2e7).fill(1))</script>",
        // An endless loop.
        "<body><script>for (;;);</script>",
        "<body><script>const go = () => Promise.resolve().then(go); go()</script>",
        // An endless DOM.
        "<body><script>for (;;) document.body.append(document.createElement('p'))</script>",
        // A DOM that is deeper than the browser's stack.
        "<body><script>let e = document.body; for (let i = 0; i < 20000; i++)
         e = e.appendChild(document.createElement('b'))</script>",
    ] {
        let ended = attack(&pool, body);
        // A loop takes no memory: on a busy machine its time may end before the bound on CPU time, and
        // then the page is read as it is.
        let is_loop = !body.contains("push") && !body.contains("append");
        assert!(
            match &ended {
                Ok(read) => is_loop && read.is_unready,
                Err(error) => matches!(
                    error,
                    Crashed | TimedOut(_) | TooMuchCpu(_) | TooMuchMemory(_)
                ),
            },
            "{body}: {ended:?}"
        );
    }
}

#[test]
fn pages_that_are_too_large_are_cut() {
    let mut options = narrow();
    options.bounds.memory = RenderBounds::default().memory;
    let Some(pool) = pool(options) else {
        return;
    };
    let large = "<body><script>document.body.innerHTML = '<p>text</p>'.repeat(100000)</script>";
    // Chromium lays out elements by recursion: its stack holds 7,000 levels and not 10,000, without us too.
    let deep = "<body><script>let e = document.body; for (let i = 0; i < 5000; i++)
                e = e.appendChild(document.createElement('b')); e.append('the end')</script>";
    let rendering = attack(&pool, large).unwrap();
    assert!(rendering.is_truncated && rendering.is_incomplete());
    assert!(
        rendering.html.len() <= 1024 * 1024 + 100,
        "{}",
        rendering.html.len()
    );
    let rendering = attack(&pool, deep).unwrap();
    assert!(rendering.html.contains("the end") && !rendering.is_truncated);
}

#[test]
fn crash_urls_and_floods_are_survived() {
    let Some(pool) = pool(narrow()) else {
        return;
    };
    for body in [
        "<body><script>location = 'chrome://crash'; document.body.append('still here')</script>",
        "<body><iframe src='chrome://kill'></iframe><script>document.body.append('still here')</script>",
        "<body><script>window.open('chrome://inducebrowsercrashforrealz'); document.body.append('still here')</script>",
        "<body><script>for (let i = 0; i < 50; i++) window.open('/w' + i); document.body.append('still here')</script>",
        "<body><script>for (let i = 0; i < 50; i++) new Worker(URL.createObjectURL(new Blob(['postMessage(1)'])));
         document.body.append('still here')</script>",
        "<body><script>for (let i = 0; i < 3000; i++) fetch('/f' + i).catch(() => 0);
         document.body.append('still here')</script>",
        "<body><script>for (let i = 0; i < 3000; i++) history.pushState({}, '', '/p' + i)</script>still here",
        "<body>still here<script>close()</script>",
        "<body>still here<script>document.body.append('\\ud800')</script>",
        "<body>still here<script>alert('\\ud800')</script>",
        "<body>still here<script>document.title = '\\udc00'</script>",
        "<body><script>onbeforeunload = () => 'x'; for (let i = 0; i < 20; i++) alert(i)</script>still here",
    ] {
        let rendering = attack(&pool, body).unwrap_or_else(|error| panic!("{body}: {error}"));
        assert!(rendering.html.contains("still here"), "{rendering:?}");
        assert!(rendering.requested.len() <= 1000 && rendering.navigated.len() <= 1000);
    }
}

/// Says to a test that it runs in a process of its own.
const ALONE: &str = "CLEWLINE_RENDERING_ALONE";

/// The command that runs one test in a process of its own.
fn alone(test: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", test, "--nocapture"])
        .env(ALONE, "1");
    command
}

fn is_alone() -> bool {
    std::env::var_os(ALONE).is_some()
}

#[test]
fn browsers_killed_at_random_moments_cost_one_rendering_each() {
    if is_alone() {
        kill_browsers_at_random_moments();
        return;
    }
    // The kills would meet the browsers of other tests.
    let name = "faults::browsers_killed_at_random_moments_cost_one_rendering_each";
    assert!(alone(name).status().unwrap().success());
}

fn kill_browsers_at_random_moments() {
    let Some(pool) = pool(BrowserOptions::default()) else {
        return;
    };
    let body = "<body><script>let n = 0; setInterval(() => document.body.append(n++), 50);
                fetch('/late').catch(() => 0);</script>";
    let mut lost = 0;
    for round in 0..50_u64 {
        run(async {
            let web = Arc::new(Web::slow(
                "http://site.test/late",
                Duration::from_millis(300),
            ));
            let one = render(&pool, body, &web);
            let killer = tokio::task::spawn_blocking(move || {
                // From the first moment to beyond the usual end.
                std::thread::sleep(Duration::from_millis(round * 7 % 350));
                let browsers: Vec<u32> = browsers_of(std::process::id()).into_iter().collect();
                if let Some(victim) = browsers.get(round as usize % browsers.len().max(1)) {
                    kill(*victim);
                }
            });
            let (rendering, _) = tokio::join!(one, killer);
            lost += usize::from(rendering.is_err());
            let next = render(&pool, "<body>fine", &web).await;
            // The kill may have come after the end of the rendering, and met the next one.
            let next = match next {
                Err(_) => render(&pool, "<body>fine", &web).await,
                fine => fine,
            };
            assert!(next.unwrap().html.contains("fine"), "round {round}");
        });
    }
    eprintln!("{lost} of 50 renderings were lost");
    assert!(lost > 0, "no kill met a rendering");
}

/// What the crawler does that is killed.
fn render_for_ever() {
    let pool = pool(BrowserOptions::default()).unwrap();
    run(async {
        let web = Arc::new(Web::default());
        eprintln!("rendering");
        let endless = render(&pool, "<body><script>for (;;);</script>", &web).await;
        panic!("nobody killed this: {endless:?}");
    });
}

#[test]
fn no_browser_outlives_a_killed_crawler() {
    if is_alone() {
        render_for_ever();
    }
    if pool(BrowserOptions::default()).is_none() {
        return;
    }
    let mut crawler = alone("faults::no_browser_outlives_a_killed_crawler")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let errors = BufReader::new(crawler.stderr.take().unwrap());
    let has_begun = errors
        .lines()
        .map_while(Result::ok)
        .any(|line| line.contains("rendering"));
    assert!(has_begun);
    // A page runs when the browser has processes for pages.
    let browsers = loop {
        let browsers = browsers_of(crawler.id());
        if browsers.len() >= 3 {
            break browsers;
        }
        std::thread::yield_now();
    };
    kill(crawler.id());
    crawler.wait().unwrap();
    let killed = Instant::now();
    while browsers.iter().any(|process| is_running(*process)) {
        let left: Vec<_> = browsers
            .iter()
            .filter(|process| is_running(**process))
            .collect();
        let patience = Duration::from_mins(1);
        assert!(killed.elapsed() < patience, "{left:?} still run");
        std::thread::sleep(Duration::from_millis(10));
    }
    eprintln!(
        "all {} browser processes ended in {:?}",
        browsers.len(),
        killed.elapsed()
    );
}

#[test]
fn a_browser_outlives_the_thread_that_started_it() {
    if !is_alone() {
        // Other tests' browsers would be taken for this one's.
        let name = "faults::a_browser_outlives_the_thread_that_started_it";
        assert!(alone(name).status().unwrap().success());
        return;
    }
    let starter = std::thread::spawn(|| pool(BrowserOptions::default()));
    let Some(pool) = starter.join().unwrap() else {
        return;
    };
    let first = browsers_of(std::process::id());
    let web = Arc::new(Web::default());
    let rendering = run(render(&pool, "<body>fine", &web)).unwrap();
    assert!(rendering.html.contains("fine"));
    let now = browsers_of(std::process::id());
    assert!(first.is_subset(&now), "{first:?} became {now:?}");
}
