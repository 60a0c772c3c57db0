//! Gathers the facts of a job, says what that took, and compares the references with the link log.

use std::collections::{BTreeSet, HashMap};
use std::time::Instant;

use clewline_check::facts::{GatherOptions, ReferenceTarget, gather};
use clewline_check::site::{RowFlags, SiteTable};
use clewline_core::key::Key;
use clewline_core::link::LinkKind;
use clewline_job::Job;

type Targets = BTreeSet<(u8, Key)>;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("name a job folder")?;
    let job = Job::open(path.as_ref())?;
    let began = Instant::now();
    let gathered = gather(&job, &GatherOptions::default(), &mut |_| {})?;
    let rows = gathered.site.rows();
    eprintln!(
        "{} URLs, {} made, {} pages of HTML, {} hosts, {} links in, damage {:?}: {} ms",
        gathered.progress.urls,
        gathered.progress.made,
        rows.iter().filter(|row| row.is(RowFlags::HTML)).count(),
        gathered.site.hosts().len(),
        rows.iter().map(|row| u64::from(row.links_in)).sum::<u64>(),
        gathered.damage,
        began.elapsed().as_millis(),
    );
    if std::env::args().nth(2).is_some() {
        compare(&job, &gathered.site)?;
    }
    Ok(())
}

/// What the link log and the facts of each page disagree on.
fn compare(job: &Job, site: &SiteTable) -> Result<(), Box<dyn std::error::Error>> {
    let mut logged: HashMap<Key, Targets> = HashMap::new();
    if let Some(links) = job.links()? {
        links.each(|source, target, kind| {
            logged
                .entry(source)
                .or_default()
                .insert((kind as u8, target));
        })?;
    }
    let (mut pages, mut links) = (0, 0);
    for page in site.pages()? {
        let (record, facts) = page?;
        if facts.html.is_none() {
            continue;
        }
        let found: Targets = facts
            .references
            .iter()
            .filter_map(|one| match &one.target {
                ReferenceTarget::Own(key) => Some((one.kind as u8, *key)),
                ReferenceTarget::Foreign(url) => Some((one.kind as u8, site.keyer().key(url))),
                _ => None,
            })
            .collect();
        let expected = logged.remove(&record.key).unwrap_or_default();
        pages += 1;
        links += expected.len();
        for (kind, key) in expected.symmetric_difference(&found) {
            let who = if found.contains(&(*kind, *key)) {
                "facts"
            } else {
                "log"
            };
            let kind = LinkKind::from_number(*kind).map_or("?", LinkKind::name);
            eprintln!("{} only in {who}: {kind} {:?}", record.url, site.url(*key)?);
        }
    }
    eprintln!("{pages} pages with {links} links compared");
    Ok(())
}
