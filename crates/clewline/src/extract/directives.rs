//! What a page asks of robots.
//!
//! Owns the directives of `<meta name=robots>` and X-Robots-Tag, as far as they concern a
//! crawler. Refuses to know whether they are obeyed. Directives only ever add up: a page that
//! says `nofollow` to all and `follow` to us still says `nofollow`.

/// Directives that carry a value after a colon, and so are no agent's name.
const VALUED: [&str; 4] = [
    "unavailable_after",
    "max-snippet",
    "max-image-preview",
    "max-video-preview",
];

/// The directives that matter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Directives {
    pub(super) nofollow: bool,
    pub(super) noindex: bool,
}

impl Directives {
    /// Reads the content of a `meta`.
    pub(super) fn read(&mut self, content: &str) {
        for directive in content.split(',') {
            self.apply(directive.trim());
        }
    }

    /// Reads a value of X-Robots-Tag; a part may begin with the name of the agent that it and
    /// what follows it are for.
    pub(super) fn read_header(&mut self, value: &str, agent: &str) {
        let mut is_ours = true;
        for part in value.split(',') {
            let mut directive = part.trim();
            if let Some((name, rest)) = directive.split_once(':') {
                let name = name.trim();
                if VALUED
                    .iter()
                    .any(|valued| name.eq_ignore_ascii_case(valued))
                {
                    continue;
                }
                is_ours = name.eq_ignore_ascii_case(agent);
                directive = rest.trim();
            }
            if is_ours {
                self.apply(directive);
            }
        }
    }

    fn apply(&mut self, directive: &str) {
        let is = |name: &str| directive.eq_ignore_ascii_case(name);
        self.nofollow |= is("nofollow") || is("none");
        self.noindex |= is("noindex") || is("none");
    }
}
