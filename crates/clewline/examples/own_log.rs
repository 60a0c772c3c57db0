//! Prints broken links as they are found, without an asynchronous runtime of its own:
//! `cargo run --example own_log -- example.com`.

use std::io::{self, Write};

use clewline::log::Entry;
use clewline::log::{Log, Offset};

/// A log that is written to standard output. It measures itself in lines.
#[derive(Default)]
struct BrokenLinks {
    lines: u64,
}

impl Log for BrokenLinks {
    fn name(&self) -> &'static str {
        "broken-links"
    }

    fn append(&mut self, batch: &[Entry]) -> io::Result<()> {
        let mut out = io::stdout().lock();
        for Entry { record, .. } in batch {
            let (Some(404 | 410), Some(found_on)) = (record.status, &record.found_on) else {
                continue;
            };
            writeln!(out, "{} on {found_on}", record.url)?;
            self.lines += 1;
        }
        Ok(())
    }

    fn sync(&mut self) -> io::Result<Offset> {
        io::stdout().flush()?;
        Ok(Offset(self.lines))
    }

    fn cut(&mut self, _offset: Offset) -> io::Result<()> {
        // What was printed cannot be taken back; a file would be shortened here.
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = std::env::args().nth(1).ok_or("which URL?")?;
    let crawl = clewline::Crawl::new(&root).log(BrokenLinks::default());
    let summary = crawl.max_pages(1000).run()?.wait()?;
    writeln!(io::stdout(), "{} pages", summary.report.tally.pages)?;
    Ok(())
}
