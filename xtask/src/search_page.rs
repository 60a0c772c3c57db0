//! The search page as people use it: they type, narrow, move by keys and open a capture.
//!
//! Owns what is done in the browser and what must come of it, in wide and narrow windows, light
//! and dark, with scripts and without. Pictures are left for people to look at. Invariant: no
//! request goes anywhere but to the server, and nothing breaks the policy of the page, which is
//! seen to hold.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};

use crate::browser::{Browser, LOOPBACK_TOO, foreign};
use crate::driver::{Driver, Scripts, Window};
use crate::sink::Sink;
use crate::stage::say;
use crate::views::Replay;

/// How long the index may take.
const INDEXING: Duration = Duration::from_mins(2);

/// Windows in which the page must look well, and their names.
const WINDOWS: [(Window, &str); 3] = [
    (window((1280, 900), "light"), "search-1280"),
    (window((1280, 900), "dark"), "search-1280-dark"),
    (window((390, 844), "light"), "search-390"),
];

const fn window(size: (u32, u32), scheme: &'static str) -> Window {
    Window { size, scheme }
}

/// Results are there, and nothing is asked for any more.
const HAS_HITS: &str =
    "document.querySelectorAll('a.hit').length > 0 && !document.querySelector('[aria-busy]')";

/// Uses the search page of a crawl.
pub(crate) fn check(browser: &Browser, clewline: &Path, job: &Path) -> Result<()> {
    let replay = Replay::start(clewline, job)?;
    wait_for_index(&replay)?;
    let sink = Sink::open()?;
    let only = format!("{LOOPBACK_TOO};{}", replay.address);
    let mut driver = browser.drive(&sink, &only)?;
    let page = format!("http://{}/search", replay.address);
    driver.resize(WINDOWS[0].0)?;
    type_and_narrow(&mut driver, &page)?;
    use_keys(&mut driver, &page)?;
    without_scripts(&mut driver, &page)?;
    look(browser, &mut driver, &page)?;
    let complaints = driver.complaints();
    ensure!(complaints.is_empty(), "the page complains: {complaints:?}");
    break_the_policy(&mut driver, &page)?;
    drop(driver);
    let requests = foreign(sink.close()?);
    ensure!(requests.is_empty(), "the page asks for {requests:?}");
    Ok(())
}

fn wait_for_index(replay: &Replay) -> Result<()> {
    let began = Instant::now();
    while replay.answer("/api/search?q=a")?.split(' ').nth(1) != Some("200") {
        if began.elapsed() > INDEXING {
            bail!("there is no index: {}", replay.answer("/api/search?q=a")?);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

fn type_and_narrow(driver: &mut Driver, page: &str) -> Result<()> {
    driver.open(page)?;
    driver.until("document.activeElement.id === 'q'")?;
    driver.write("virtual tabl")?;
    driver.until(HAS_HITS)?;
    driver.until("location.search.includes('virtual+tabl')")?;
    driver.until("document.title.startsWith('virtual tabl')")?;
    driver.until("document.querySelectorAll('.hits mark').length > 0")?;
    let hits = driver.value("document.querySelector('#status b').textContent")?;
    say(&format!("search: {hits} while typing"));
    driver.click(".facets a[href*='lang=en']")?;
    driver.until("location.search.includes('lang=en')")?;
    driver.until("document.querySelector('.chosen')?.textContent.startsWith('en')")?;
    driver.until("document.querySelector('input[name=lang]').value === 'en'")?;
    driver.click(".chosen a")?;
    driver.until("!location.search.includes('lang=') && !document.querySelector('.chosen')")
}

fn use_keys(driver: &mut Driver, page: &str) -> Result<()> {
    driver.open(&format!("{page}?q=index"))?;
    driver.until(HAS_HITS)?;
    let focused = |number: usize| {
        format!("document.activeElement === document.querySelectorAll('a.hit')[{number}]")
    };
    for (key, number) in [
        ("j", 0),
        ("ArrowDown", 1),
        ("j", 2),
        ("k", 1),
        ("ArrowUp", 0),
    ] {
        driver.press(key)?;
        driver.until(&focused(number))?;
    }
    driver.press("/")?;
    driver.until("document.activeElement.id === 'q'")?;
    driver.press("Escape")?;
    driver.until("document.getElementById('q').value === '' && location.search === '?q='")?;
    driver.write("journal")?;
    driver.until("location.search === '?q=journal'")?;
    driver.until(HAS_HITS)?;
    driver.press("ArrowDown")?;
    let target = driver.value("document.activeElement.getAttribute('href')")?;
    driver.press("Enter")?;
    driver.until("location.pathname.startsWith('/web/') && document.querySelector('clewline-banner') !== null")?;
    say(&format!("search: Enter opens {target}"));
    Ok(())
}

fn without_scripts(driver: &mut Driver, page: &str) -> Result<()> {
    driver.scripts(Scripts::Blocked)?;
    driver.open(page)?;
    driver.click("#q")?;
    driver.write("trigger")?;
    driver.press("Enter")?;
    driver.until(
        "location.search === '?q=trigger' && document.querySelectorAll('a.hit').length > 0",
    )?;
    driver.scripts(Scripts::Allowed)
}

/// Takes pictures, of a page that does not scroll sideways.
fn look(browser: &Browser, driver: &mut Driver, page: &str) -> Result<()> {
    for (window, name) in WINDOWS {
        driver.resize(window)?;
        driver.open(&format!("{page}?q=%22virtual+table%22+module"))?;
        driver.until(HAS_HITS)?;
        driver.press("j")?;
        driver.until(
            "document.documentElement.scrollWidth <= document.documentElement.clientWidth",
        )?;
        let picture = browser.folder.join(format!("{name}.png"));
        driver.picture(&picture, window.size.0)?;
    }
    driver.open(&format!("{page}?q=%22open"))?;
    // A refused question is an error to the console, too.
    driver.complaints();
    driver.picture(
        &browser.folder.join("search-refused.png"),
        WINDOWS[2].0.size.0,
    )
}

/// Tries to run a script that is not the page's own.
fn break_the_policy(driver: &mut Driver, page: &str) -> Result<()> {
    driver.open(&format!("{page}?q=index"))?;
    driver.value(
        "(() => { const s = document.createElement('script'); s.textContent = 'window.broken = 1'; \
        document.body.append(s); })()",
    )?;
    driver.until("window.broken === undefined")?;
    let complaints = driver.complaints();
    let is_told = complaints
        .iter()
        .any(|told| told.contains("Content Security Policy"));
    ensure!(is_told, "the policy is not seen to hold: {complaints:?}");
    Ok(())
}
