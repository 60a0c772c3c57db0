//! The Link header field (RFC 8288 section 3 and appendix B).
//!
//! Owns where its links, their relations and parameters begin and end. Refuses to know what the
//! relations mean. Invariant: linear in the value; what does not parse is skipped.

/// One link of a Link field.
#[derive(Debug, Default)]
pub struct HeaderLink<'a> {
    /// Where it points, as written.
    pub target: &'a str,
    /// Its `rel`.
    pub relations: Option<String>,
    /// Its `as`.
    pub destination: Option<String>,
    /// Its `hreflang`.
    pub language: Option<String>,
    /// It says that another resource is the one that links.
    pub has_anchor: bool,
}

/// Hands on each link of a value.
pub fn each_link(value: &str, mut found: impl FnMut(HeaderLink<'_>)) {
    let mut rest = value;
    while let Some(start) = rest.find('<') {
        let Some(length) = rest[start + 1..].find('>') else {
            return;
        };
        let target = &rest[start + 1..start + 1 + length];
        rest = &rest[start + 1 + length + 1..];
        let mut link = HeaderLink {
            target,
            ..HeaderLink::default()
        };
        rest = parameters(rest, &mut link);
        found(link);
    }
}

/// Reads the parameters of one link, and answers what follows its comma.
fn parameters<'a>(mut rest: &'a str, link: &mut HeaderLink<'_>) -> &'a str {
    loop {
        rest = rest.trim_start();
        let Some(after) = rest.strip_prefix(';') else {
            let end = rest.find([',', ';']).unwrap_or(rest.len());
            rest = &rest[end..];
            if rest.starts_with(';') {
                continue;
            }
            return rest.strip_prefix(',').unwrap_or(rest);
        };
        let after = after.trim_start();
        let name_end = after.find(['=', ';', ',']).unwrap_or(after.len());
        let name = after[..name_end].trim_end();
        rest = &after[name_end..];
        let mut value = String::new();
        if let Some(raw) = rest.strip_prefix('=') {
            (value, rest) = parameter_value(raw.trim_start());
        }
        // Of several `rel` the first counts (RFC 8288 section 3.3).
        if name.eq_ignore_ascii_case("rel") {
            link.relations.get_or_insert(value);
        } else if name.eq_ignore_ascii_case("as") {
            link.destination.get_or_insert(value);
        } else if name.eq_ignore_ascii_case("hreflang") {
            link.language.get_or_insert(value);
        } else if name.eq_ignore_ascii_case("anchor") {
            link.has_anchor = true;
        }
    }
}

fn parameter_value(raw: &str) -> (String, &str) {
    let Some(quoted) = raw.strip_prefix('"') else {
        let end = raw.find([';', ',']).unwrap_or(raw.len());
        return (raw[..end].trim_end().to_owned(), &raw[end..]);
    };
    let mut value = String::new();
    let mut is_escaped = false;
    for (at, c) in quoted.char_indices() {
        match c {
            _ if is_escaped => {
                value.push(c);
                is_escaped = false;
            }
            '\\' => is_escaped = true,
            '"' => return (value, &quoted[at + 1..]),
            _ => value.push(c),
        }
    }
    (value, "")
}
