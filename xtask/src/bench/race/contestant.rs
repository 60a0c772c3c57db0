//! Who takes part, as commands.

use std::path::{Path, PathBuf};

use super::super::ground::Ground;

/// What a contestant is to the reader of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Party {
    /// The bare client: the limit.
    Limit,
    Clewline,
    Rival,
}

/// A command that can be raced. `{url}`, `{out}`, `{disk}`, `{list}` and `{in_flight}` in its
/// words are filled in for each run.
#[derive(Debug, Clone)]
pub(crate) struct Contestant {
    pub(crate) name: String,
    pub(crate) party: Party,
    /// What is left on disk.
    pub(crate) stores: &'static str,
    /// A crawl that was begun and is gone on with: a folder that is copied before each run.
    pub(crate) begun: Option<PathBuf>,
    words: Vec<String>,
}

/// What is filled in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Blanks<'a> {
    pub(crate) url: &'a str,
    /// A folder in memory, where the machine has such.
    pub(crate) out: &'a Path,
    /// A folder on disk, for those who sync.
    pub(crate) disk: &'a Path,
    pub(crate) list: &'a Path,
    pub(crate) in_flight: usize,
}

impl Contestant {
    pub(crate) fn new(name: &str, party: Party, stores: &'static str, words: &[&str]) -> Self {
        Self {
            name: name.to_owned(),
            party,
            stores,
            begun: None,
            words: words.iter().map(|&word| word.to_owned()).collect(),
        }
    }

    /// The same with more words at its end.
    pub(crate) fn with(mut self, words: &[&str]) -> Self {
        self.words.extend(words.iter().map(|&word| word.to_owned()));
        self
    }

    /// The same under another name, and with something else left on disk.
    pub(crate) fn called(mut self, name: &str, stores: &'static str) -> Self {
        name.clone_into(&mut self.name);
        self.stores = stores;
        self
    }

    /// The same, going on with what a crawl left in this folder.
    pub(crate) fn going_on(mut self, folder: &Path) -> Self {
        self.begun = Some(folder.to_owned());
        self
    }

    /// The command for one run.
    pub(crate) fn command(&self, blanks: &Blanks) -> Vec<String> {
        let fill = |word: &String| {
            word.replace("{url}", blanks.url)
                .replace("{out}", &blanks.out.display().to_string())
                .replace("{disk}", &blanks.disk.display().to_string())
                .replace("{list}", &blanks.list.display().to_string())
                .replace("{in_flight}", &blanks.in_flight.to_string())
        };
        self.words.iter().map(fill).collect()
    }
}

/// The bare client over the list of all URLs.
pub(crate) fn bare(ground: &Ground) -> Contestant {
    let program = ground.program("bench-client");
    let words = [program.as_str(), "{list}", "--concurrency", "{in_flight}"];
    Contestant::new("bare client", Party::Limit, "nothing", &words)
}

/// Clewline with nothing on disk.
pub(crate) fn in_memory(ground: &Ground) -> Contestant {
    clewline(ground, IN_MEMORY, "nothing").with(&["--no-output"])
}

/// What [`in_memory`] is called.
pub(crate) const IN_MEMORY: &str = "clewline, in memory";

/// The same without looking for traps: what that costs is the difference.
pub(crate) fn without_detection(ground: &Ground) -> Contestant {
    let crawl = in_memory(ground).called(WITHOUT_DETECTION, "nothing");
    crawl.with(&["--no-trap-detection"])
}

/// What [`without_detection`] is called.
pub(crate) const WITHOUT_DETECTION: &str = "clewline, in memory, no trap detection";

/// Clewline with its logs in a folder, but its state in memory.
pub(crate) fn state_in_memory(ground: &Ground) -> Contestant {
    clewline(ground, "clewline, state in memory", "its logs")
        .with(&INTO_FOLDER)
        .with(&["--in-memory", "--no-archive"])
}

/// Clewline with its job folder, but without the archive: its figures mean what they meant
/// before there was one.
pub(crate) fn with_folder(ground: &Ground) -> Contestant {
    clewline(ground, "clewline", "its job folder")
        .with(&INTO_FOLDER)
        .with(&["--no-archive"])
}

/// Clewline going on with a crawl of one page, whose store knows millions of other URLs.
pub(crate) fn with_known(ground: &Ground, folder: &Path) -> Contestant {
    clewline(ground, WITH_KNOWN, "its job folder")
        .with(&["--output", "{disk}", "--no-archive"])
        .going_on(folder)
}

/// What [`with_known`] is called.
pub(crate) const WITH_KNOWN: &str = "clewline, 5 M URLs known";

/// Clewline with its job folder and the archive in it.
pub(crate) fn with_archive(ground: &Ground, coding: Coding) -> Contestant {
    let stores = "its job folder with archive";
    let crawl = clewline(ground, coding.name(), stores).with(&INTO_FOLDER);
    crawl.with(&["--warc-compression", coding.flag()])
}

/// How an archive is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Coding {
    Fast,
    Balanced,
    Zstd,
}

impl Coding {
    /// The codings that are raced: the cheapest gzip, the usual one, and the smallest of all.
    pub(crate) const RACED: [Self; 3] = [Self::Fast, Self::Balanced, Self::Zstd];

    const fn flag(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::Balanced => "balanced",
            Self::Zstd => "zstd",
        }
    }

    /// What a crawl with such an archive is called.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Fast => "clewline, with archive fast",
            Self::Balanced => "clewline, with archive",
            Self::Zstd => "clewline, with archive zstd",
        }
    }
}

const INTO_FOLDER: [&str; 3] = ["--overwrite", "--output", "{disk}"];

/// The bare client that makes a SHA-1 and a gzip member of each body besides.
pub(crate) fn packing(ground: &Ground) -> Contestant {
    bare(ground).with(&["--pack"]).called(PACKING, "nothing")
}

/// What [`packing`] is called.
pub(crate) const PACKING: &str = "bare client, SHA-1 and gzip -1";

fn clewline(ground: &Ground, name: &str, stores: &'static str) -> Contestant {
    let program = ground.program("clewline");
    let words = [
        program.as_str(),
        "--no-config",
        "--quiet",
        "--concurrency",
        "{in_flight}",
    ];
    Contestant::new(name, Party::Clewline, stores, &words)
}

/// Words that let Clewline ask one host as hard as the rivals do.
pub(crate) const ONE_SITE: [&str; 5] = [
    "{url}",
    "--speed",
    "max",
    "--host-concurrency",
    "{in_flight}",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_are_filled_in() {
        let words = ["crawl", "{url}", "-P{out}", "{in_flight}"];
        let contestant = Contestant::new("x", Party::Rival, "files", &words).with(&["{list}"]);
        let command = contestant.command(&Blanks {
            url: "http://h/",
            out: Path::new("/o"),
            disk: Path::new("/d"),
            list: Path::new("/l"),
            in_flight: 64,
        });
        assert_eq!(command, ["crawl", "http://h/", "-P/o", "64", "/l"]);
    }
}
