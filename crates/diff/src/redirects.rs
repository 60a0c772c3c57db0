//! The map from old addresses to new ones, for the server of the new site.
//!
//! Owns the notations. Invariants: each line says whether it is sure or likely; no address can break
//! out of its place in a line, whatever characters it has.

use std::borrow::Cow;
use std::io::{self, Write};

use clewline_content::Url;
use clewline_job::csv::CsvRow;
use clewline_job::escape::visible;

use crate::edit::page_url;
use crate::moves::PageMove;

/// A notation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RedirectForm {
    /// A `map` of nginx.
    Nginx,
    /// `_redirects` of Netlify and others.
    Netlify,
    /// CSV (RFC 4180).
    Csv,
}

impl RedirectForm {
    /// All notations.
    pub const ALL: [Self; 3] = [Self::Nginx, Self::Netlify, Self::Csv];

    /// The word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nginx => "nginx",
            Self::Netlify => "netlify",
            Self::Csv => "csv",
        }
    }

    /// The notation of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|form| form.name() == name)
    }

    /// Writes a map.
    pub fn write(self, moves: &[PageMove], out: &mut dyn Write) -> io::Result<()> {
        match self {
            Self::Nginx => nginx(moves, out),
            Self::Netlify => netlify(moves, out),
            Self::Csv => csv(moves, out),
        }
    }
}

/// Where a line is from and to. Within one host the path is enough.
fn ends(page: &PageMove) -> (String, String) {
    let (from, to) = (page_url(&page.from), page_url(&page.to));
    let target = if from.origin() == to.origin() {
        path_and_query(&to)
    } else {
        String::from(to)
    };
    (path_and_query(&from), target)
}

fn path_and_query(url: &Url) -> String {
    match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    }
}

fn about(page: &PageMove) -> String {
    format!("{}: {}", page.certainty.name(), page.reason.about())
}

fn nginx(moves: &[PageMove], out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "# Inside http {{ }}. Inside server {{ }}: if ($moved_to) {{ return 301 $moved_to; }}\n\
         map $request_uri $moved_to {{"
    )?;
    for page in moves {
        let (from, to) = ends(page);
        // In a value `$` begins a variable, and there is no escape for it.
        let (from, to) = (quoted(&from), quoted(&to.replace('$', "%24")));
        writeln!(out, "    {from} {to}; # {}", about(page))?;
    }
    writeln!(out, "}}")
}

/// A word between quotes. A path begins with a slash, so that it is no pattern and no keyword.
fn quoted(text: &str) -> String {
    let escaped = visible(text).replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{escaped}\"")
}

fn netlify(moves: &[PageMove], out: &mut dyn Write) -> io::Result<()> {
    for page in moves {
        let (from, to) = ends(page);
        let (path, query) = from.split_once('?').unwrap_or((&from, ""));
        // `*` and `:` are wildcards at the left, `:` at the right.
        let path = plain(path).replace('*', "%2A").replace("/:", "/%3A");
        let to = plain(&to).replace("/:", "/%3A");
        writeln!(out, "# {}", about(page))?;
        let pairs = query.split('&').filter(|pair| !pair.is_empty());
        let parts: Vec<_> = [path.into()].into_iter().chain(pairs.map(plain)).collect();
        writeln!(out, "{} {to} 301!", parts.join(" "))?;
    }
    Ok(())
}

/// Text without spaces, which separate the parts of a line.
fn plain(text: &str) -> Cow<'_, str> {
    let is_odd = |c: char| c.is_whitespace() || c.is_control() || c == '#';
    if !text.contains(is_odd) {
        return visible(text);
    }
    let kept = text.chars().filter(|c| !is_odd(*c)).collect::<String>();
    Cow::Owned(visible(&kept).into_owned())
}

fn csv(moves: &[PageMove], out: &mut dyn Write) -> io::Result<()> {
    let mut row = CsvRow::default();
    for name in ["from", "to", "certainty", "reason"] {
        row.text(name);
    }
    out.write_all(row.end().as_bytes())?;
    for page in moves {
        row.text(&page.from);
        row.text(&page.to);
        row.text(page.certainty.name());
        row.text(page.reason.about());
        out.write_all(row.end().as_bytes())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::moves::{MoveCertainty, MoveReason};

    fn written(form: RedirectForm, from: &str, to: &str) -> String {
        let page = PageMove {
            from: from.to_owned(),
            to: to.to_owned(),
            certainty: MoveCertainty::Sure,
            reason: MoveReason::SameText,
        };
        let mut out = Vec::new();
        form.write(&[page], &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn addresses_stay_in_their_place() {
        let check = |form: RedirectForm, from: &str, to: &str, expected: &str| {
            let text = written(form, from, to);
            assert!(text.contains(expected), "{text}");
        };
        let nginx = RedirectForm::Nginx;
        check(
            nginx,
            "http://a/x?q",
            "http://a/y",
            "\"/x?q\" \"/y\"; # sure: same text\n",
        );
        check(
            nginx,
            "http://a/x",
            "http://b/$y",
            "\"/x\" \"http://b/%24y\";",
        );
        check(
            nginx,
            "http://a/\";}\\",
            "http://a/y",
            "\"/%22;%7D/\" \"/y\"",
        );
        let netlify = RedirectForm::Netlify;
        check(
            netlify,
            "http://a/*/:x",
            "http://a/y",
            "# sure: same text\n/%2A/%3Ax /y 301!\n",
        );
        check(
            netlify,
            "http://a/x?a=1&b=2",
            "http://a/y",
            "/x a=1 b=2 /y 301!\n",
        );
        check(
            RedirectForm::Csv,
            "http://a/,",
            "http://a/y",
            "\"http://a/,\",http://a/y,sure,same text\r\n",
        );
    }
}
