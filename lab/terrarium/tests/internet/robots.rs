//! Robots rules, read in the simplest way that is right for well-meant files.

/// The rules for one crawler.
pub(crate) struct Rules(Vec<Rule>);

/// A pattern, and whether it forbids.
type Rule = (String, bool);

impl Rules {
    pub(crate) fn none() -> Self {
        Self(Vec::new())
    }

    pub(crate) fn everything() -> Self {
        Self(vec![("/".to_owned(), true)])
    }

    pub(crate) fn read(text: &str, agent: &str) -> (Self, Vec<String>) {
        let mut sitemaps = Vec::new();
        let mut groups: Vec<(Vec<String>, Vec<Rule>)> = Vec::new();
        for line in text.trim_start_matches('\u{feff}').lines() {
            let line = line.split('#').next().unwrap_or_default();
            let Some((field, value)) = line.split_once(':') else {
                continue;
            };
            let value = value.trim().to_owned();
            match field.trim().to_ascii_lowercase().as_str() {
                "user-agent" => match groups.last_mut() {
                    Some((agents, rules)) if rules.is_empty() => agents.push(value),
                    _ => groups.push((vec![value], Vec::new())),
                },
                kind @ ("allow" | "disallow") => {
                    if let Some((_, rules)) = groups.last_mut() {
                        rules.push((value, kind == "disallow"));
                    }
                }
                "sitemap" => sitemaps.push(value),
                _ => {}
            }
        }
        let of = |name: &str| -> Vec<Rule> {
            let named = groups
                .iter()
                .filter(|(agents, _)| agents.iter().any(|one| one == name));
            named.flat_map(|(_, rules)| rules.clone()).collect()
        };
        let is_named = groups
            .iter()
            .any(|(agents, _)| agents.iter().any(|one| one == agent));
        (Self(of(if is_named { agent } else { "*" })), sitemaps)
    }

    pub(crate) fn deny(&self, path: &str) -> bool {
        let matching = self.0.iter().filter(|(pattern, _)| fits(pattern, path));
        let longest = matching.max_by_key(|(pattern, denies)| (pattern.len(), !denies));
        longest.is_some_and(|(_, denies)| *denies)
    }
}

fn fits(pattern: &str, path: &str) -> bool {
    let (pattern, is_anchored) = match pattern.strip_suffix('$') {
        Some(pattern) => (pattern, true),
        None => (pattern, false),
    };
    let mut parts = pattern.split('*');
    let Some(mut rest) = path.strip_prefix(parts.next().unwrap_or_default()) else {
        return false;
    };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    !is_anchored || rest.is_empty()
}
