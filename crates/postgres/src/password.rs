//! Where the password of a database comes from: `PGPASSWORD`, or libpq's password file.
//!
//! Owns the reading of that file by libpq's rules: the first line that fits counts, `*` fits
//! everything, a backslash keeps the next character as it is, and a file that others may read is
//! not used. Invariant: a password leaves this module only for the connection.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use tokio_postgres::Config;
use tokio_postgres::config::Host;

/// Where a password is looked for.
#[derive(Clone)]
pub(crate) struct PasswordSource {
    variable: Option<String>,
    file: Option<PathBuf>,
}

impl PasswordSource {
    /// `PGPASSWORD`; else the file that was named, `PGPASSFILE` or `~/.pgpass`.
    pub(crate) fn from_environment(named: Option<PathBuf>) -> Self {
        let at_home = || Some(PathBuf::from(env::var_os("HOME")?).join(".pgpass"));
        let file = named
            .or_else(|| env::var_os("PGPASSFILE").map(PathBuf::from))
            .or_else(at_home);
        Self {
            variable: env::var("PGPASSWORD").ok(),
            file,
        }
    }

    /// The password for a connection, read anew each time.
    pub(crate) fn find(&self, config: &Config) -> Option<String> {
        if self.variable.is_some() {
            return self.variable.clone();
        }
        let file = self.file.as_deref().filter(|file| is_private(file))?;
        let text = fs::read_to_string(file).ok()?;
        let count = config.get_hosts().len().max(config.get_hostaddrs().len());
        (0..count).find_map(|at| look_up(&text, &wanted(config, at)))
    }

    /// Why the file is not used, for whoever was refused without a password.
    pub(crate) fn complaint(&self) -> Option<String> {
        let file = self.file.as_deref()?;
        let is_open = self.variable.is_none() && file.is_file() && !is_private(file);
        is_open.then(|| {
            let file = file.display();
            format!("{file} was not used, because others may read it: chmod 600 {file}")
        })
    }
}

#[cfg(unix)]
fn is_private(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    let seen = fs::metadata(file);
    seen.is_ok_and(|seen| seen.is_file() && seen.permissions().mode().trailing_zeros() >= 6)
}

#[cfg(not(unix))]
fn is_private(file: &Path) -> bool {
    file.is_file()
}

/// Host, port, database and user of one of the hosts, as the file names them.
fn wanted(config: &Config, at: usize) -> [String; 4] {
    let host = match config.get_hosts().get(at) {
        // libpq calls the usual socket by this name.
        #[cfg(unix)]
        Some(Host::Unix(folder)) if folder == Path::new("/var/run/postgresql") => {
            "localhost".to_owned()
        }
        #[cfg(unix)]
        Some(Host::Unix(folder)) => folder.display().to_string(),
        Some(Host::Tcp(name)) => name.clone(),
        None => config.get_hostaddrs()[at].to_string(),
    };
    let ports = config.get_ports();
    let port = ports.get(at).or(ports.first()).copied().unwrap_or(5432);
    let user = config.get_user().map(ToOwned::to_owned);
    let user = user.or_else(|| env::var("USER").ok()).unwrap_or_default();
    let database = config.get_dbname().unwrap_or(&user).to_owned();
    [host, port.to_string(), database, user]
}

fn look_up(text: &str, wanted: &[String; 4]) -> Option<String> {
    text.lines().find_map(|line| {
        if line.starts_with('#') {
            return None;
        }
        let fields = fields(line);
        let (password, names) = fields.split_last()?;
        let fits = |(name, wanted): (&Field, &String)| name.is_star || name.text == *wanted;
        let is_it = names.len() == 4 && names.iter().zip(wanted).all(fits);
        is_it.then(|| password.text.clone())
    })
}

#[derive(Default)]
struct Field {
    text: String,
    /// It is a star without a backslash, and nothing else.
    is_star: bool,
}

/// At most five fields; the password may have colons.
fn fields(line: &str) -> Vec<Field> {
    let mut found = vec![Field::default()];
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        let count = found.len();
        let last = found.last_mut().expect("there is always one");
        match letter {
            ':' if count < 5 => found.push(Field::default()),
            '\\' => {
                last.is_star = false;
                last.text.extend(letters.next());
            }
            letter => {
                last.is_star = letter == '*' && last.text.is_empty();
                last.text.push(letter);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_fits_counts() {
        let file = "# a comment\n\
                    db.example:5432:fleet:me:first\n\
                    db.example:*:*:me:second\n\
                    *:*:*:we\\:us:a\\:b:c\\\\\n\
                    \\*:*:*:star:never\n";
        for (wanted, expected) in [
            (["db.example", "5432", "fleet", "me"], Some("first")),
            (["db.example", "5433", "fleet", "me"], Some("second")),
            (["other", "1", "x", "we:us"], Some("a:b:c\\")),
            (["other", "1", "x", "star"], None),
            (["other", "1", "x", "me"], None),
        ] {
            let found = look_up(file, &wanted.map(ToOwned::to_owned));
            assert_eq!(found.as_deref(), expected, "{wanted:?}");
        }
    }
}
