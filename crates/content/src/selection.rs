//! Which part of a page is its content.
//!
//! Owns what counts as the page's machinery (navigation, banners, footers, what is hidden) and
//! where the main content begins. It refuses to know how the content is written. Invariant: a
//! few passes over the nodes, so the time is linear; a choice that would lose nearly all of the
//! page is not taken.

use clewline_html::TagAttributes;

use crate::hidden::{self, HiddenText};
use crate::math;
use crate::tag::NodeKind;
use crate::token::any_word;
use crate::tree::{NodeId, Tree};

/// Words of a class or an id that name the machinery around a content.
const MACHINERY: [&str; 49] = [
    "ad",
    "ads",
    "advert",
    "advertisement",
    "backlinks",
    "banner",
    "breadcrumb",
    "breadcrumbs",
    "comments",
    "consent",
    "cookie",
    "cookies",
    "disqus",
    "editsection",
    "footer",
    "gutter",
    "headerlink",
    "lineno",
    "linenos",
    "masthead",
    "menu",
    "modal",
    "nav",
    "navbar",
    "navfooter",
    "navheader",
    "navigation",
    "newsletter",
    "noprint",
    "pager",
    "pagination",
    "permalink",
    "popup",
    "prevnext",
    "promo",
    "related",
    "searchbox",
    "share",
    "sidebar",
    "skip",
    "skiplink",
    "social",
    "sphinxfooter",
    "sphinxsidebar",
    "subnav",
    "subscribe",
    "toc",
    "toolbar",
    "topbar",
];

/// Roles that name it, too (WAI-ARIA).
const MACHINE_ROLES: [&str; 9] = [
    "alert",
    "banner",
    "complementary",
    "contentinfo",
    "dialog",
    "menu",
    "menubar",
    "navigation",
    "search",
];

/// Of 100 characters of a page, those that an element must hold to count as content whatever
/// its names say.
const CONTENT_PERCENT: u64 = 40;
/// Of 100, those that a declared main part must hold to be believed.
const DECLARED_PERCENT: u64 = 25;
/// Of 100, those that a child must hold for its siblings to be left out.
const DESCENT_PERCENT: u64 = 85;
/// Of 100, those in links that make a list or a block a menu.
const MENU_PERCENT: u64 = 85;
/// Of 100, those that must remain for a choice to be taken.
const REMAINING_PERCENT: u64 = 10;

/// What is in the subtree of a node.
#[derive(Debug, Clone, Copy, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is there or not, whatever the others are"
)]
pub(crate) struct Holds {
    pub(crate) table: bool,
    pub(crate) heading: bool,
    /// A heading of one of the two highest levels.
    pub(crate) title: bool,
    pub(crate) link: bool,
    pub(crate) block: bool,
}

/// A part of a tree.
#[derive(Debug)]
pub(crate) struct Selection {
    /// Where it begins.
    pub(crate) root: NodeId,
    dropped: Vec<bool>,
    holds: Vec<Holds>,
    /// What people do not see, of the whole page.
    pub(crate) hidden: HiddenText,
}

impl Selection {
    /// Everything that people read.
    pub(crate) fn whole(tree: &Tree<'_>) -> Self {
        let marks = marks(tree);
        Self {
            root: NodeId::ROOT,
            dropped: spread(tree, |id| marks[id.index()].is_unread()),
            holds: holds(tree),
            hidden: hidden_text(tree, &marks),
        }
    }

    /// The main content, or the whole page where none stands out.
    pub(crate) fn main(tree: &Tree<'_>) -> Self {
        let marks = marks(tree);
        let unread = spread(tree, |id| marks[id.index()].is_unread());
        let hidden = hidden_text(tree, &marks);
        let all = Weights::for_tree(tree, &unread);
        let total = all.text[0];
        let holds = holds(tree);
        let is_machinery = |id: NodeId| match marks[id.index()] {
            Mark::Unread | Mark::Hidden => true,
            Mark::Machinery => !all.is_share(id, CONTENT_PERCENT),
            // A header with a title is content, of a page as of a section.
            Mark::Header => !holds[id.index()].heading,
            // A heading is never boilerplate by its links alone, nor is what holds one.
            Mark::Content | Mark::Declared => !holds[id.index()].heading && is_menu(tree, &all, id),
        };
        let dropped = spread(tree, is_machinery);
        let good = Weights::for_tree(tree, &dropped);
        if good.text[0] * 100 < total * REMAINING_PERCENT {
            return Self {
                root: NodeId::ROOT,
                dropped: unread,
                holds,
                hidden,
            };
        }
        let start = declared(tree, &marks, &dropped, &good);
        Self {
            root: around_table(tree, descend(tree, &good, &holds, start)),
            dropped,
            holds,
            hidden,
        }
    }

    pub(crate) fn is_dropped(&self, id: NodeId) -> bool {
        self.dropped[id.index()]
    }

    pub(crate) fn holds(&self, id: NodeId) -> Holds {
        self.holds[id.index()]
    }
}

/// What an element's name and attributes say about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    Content,
    /// Said to be the main part.
    Declared,
    Header,
    Machinery,
    Unread,
    /// Its attributes hide it from people.
    Hidden,
}

impl Mark {
    fn is_unread(self) -> bool {
        matches!(self, Self::Unread | Self::Hidden)
    }
}

/// What the marks hide. What is read by nobody, such as scripts, hides no text.
fn hidden_text(tree: &Tree<'_>, marks: &[Mark]) -> HiddenText {
    let mut found = HiddenText::default();
    // For each node what covers it: nothing, or the element that hides it, or a part that is no text.
    let mut covers = vec![None; tree.len()];
    let mut is_counted = vec![false; tree.len()];
    for id in tree.ids().skip(1) {
        let above: Option<(Mark, NodeId)> = covers[tree.node(id).parent.index()];
        let own = marks[id.index()];
        covers[id.index()] = match above {
            Some((Mark::Unread, _)) => above,
            _ if own == Mark::Unread => Some((own, id)),
            None if own == Mark::Hidden => Some((own, id)),
            above => above,
        };
        let Some((Mark::Hidden, by)) = covers[id.index()] else {
            continue;
        };
        let solid = tree.node(id).text.chars().filter(|c| !c.is_whitespace());
        let count = solid.count() as u64;
        found.characters += count;
        if count > 0 && !is_counted[by.index()] {
            is_counted[by.index()] = true;
            found.elements += 1;
        }
    }
    found
}

fn marks(tree: &Tree<'_>) -> Vec<Mark> {
    tree.ids().map(|id| mark(tree, id)).collect()
}

fn mark(tree: &Tree<'_>, id: NodeId) -> Mark {
    let node = tree.node(id);
    if node.tag == NodeKind::Script && math::is_tex_script(node.attributes) {
        return Mark::Content;
    }
    // A drawing is told of as a whole.
    if node.tag.is_unread() || tree.node(node.parent).tag == NodeKind::Svg {
        return Mark::Unread;
    }
    let by_tag = match node.tag {
        NodeKind::Nav
        | NodeKind::Aside
        | NodeKind::Footer
        | NodeKind::Menu
        | NodeKind::Dialog
        | NodeKind::Form => Mark::Machinery,
        NodeKind::Header => Mark::Header,
        NodeKind::Main => Mark::Declared,
        _ => Mark::Content,
    };
    if node.attributes.is_empty() {
        return by_tag;
    }
    match by_attributes(node.tag, node.attributes) {
        Mark::Content => by_tag,
        other => other,
    }
}

fn by_attributes(tag: NodeKind, attributes: TagAttributes<'_>) -> Mark {
    let mut mark = Mark::Content;
    let (mut by_id, mut is_section) = (false, false);
    for (name, value) in attributes.iter() {
        let is = |other: &str| name.eq_ignore_ascii_case(other);
        if is("class") {
            is_section = any_word(value, |word| word == "section");
            if matches!(tag, NodeKind::Span | NodeKind::Div) && math::is_rendering(value) {
                return Mark::Unread;
            }
            if tag == NodeKind::Span && math::is_spoken(value) {
                return Mark::Content;
            }
            if mark == Mark::Content && names_machinery(value) {
                mark = Mark::Machinery;
            }
        } else if is("id") {
            by_id = names_machinery(value);
        } else if is("role") {
            if value.eq_ignore_ascii_case("main") {
                mark = Mark::Declared;
            } else if MACHINE_ROLES
                .iter()
                .any(|role| role.eq_ignore_ascii_case(value))
            {
                mark = Mark::Machinery;
            }
        } else if is("itemprop") && value.eq_ignore_ascii_case("articleBody") {
            mark = Mark::Declared;
        } else if is("aria-hidden") && value == "true" {
            return Mark::Unread;
        }
    }
    if hidden::hides(attributes) {
        return Mark::Hidden;
    }
    // The id of a section or a term is an anchor, made of its words: it may be about menus.
    let is_named = matches!(
        tag,
        NodeKind::Div | NodeKind::Ul | NodeKind::Ol | NodeKind::Table | NodeKind::Td
    ) && !is_section;
    match mark {
        Mark::Content if by_id && is_named => Mark::Machinery,
        mark => mark,
    }
}

fn names_machinery(names: &str) -> bool {
    let words = names.split(|c: char| c.is_ascii_whitespace() || matches!(c, '-' | '_'));
    let is_known = |word: &str| {
        let mut lower = [0; 16];
        let Some(lower) = lower.get_mut(..word.len()) else {
            return false;
        };
        lower.copy_from_slice(word.as_bytes());
        lower.make_ascii_lowercase();
        MACHINERY
            .binary_search_by(|known| known.as_bytes().cmp(lower))
            .is_ok()
    };
    words.filter(|word| !word.is_empty()).any(is_known)
}

/// A list or a block that is nearly all links, and no sentence.
fn is_menu(tree: &Tree<'_>, weights: &Weights, id: NodeId) -> bool {
    let tag = tree.node(id).tag;
    if !matches!(
        tag,
        NodeKind::Ul | NodeKind::Ol | NodeKind::Div | NodeKind::Section | NodeKind::Table
    ) {
        return false;
    }
    let (text, links) = (weights.text[id.index()], weights.links[id.index()]);
    links > 0 && links * 100 >= text * MENU_PERCENT && !weights.is_share(id, CONTENT_PERCENT)
}

/// Whether each node or one above it is chosen.
fn spread(tree: &Tree<'_>, is_chosen: impl Fn(NodeId) -> bool) -> Vec<bool> {
    let mut chosen = vec![false; tree.len()];
    for id in tree.ids().skip(1) {
        // A parent comes before its children, so it is decided.
        let above = chosen[tree.node(id).parent.index()];
        chosen[id.index()] = above || is_chosen(id);
    }
    chosen
}

fn holds(tree: &Tree<'_>) -> Vec<Holds> {
    let mut holds = vec![Holds::default(); tree.len()];
    for id in tree.ids().skip(1).rev() {
        let (inner, node) = (holds[id.index()], tree.node(id));
        let outer = &mut holds[node.parent.index()];
        outer.table |= inner.table || node.tag == NodeKind::Table;
        outer.heading |= inner.heading || node.tag.heading().is_some();
        outer.title |= inner.title || matches!(node.tag, NodeKind::H1 | NodeKind::H2);
        outer.link |= inner.link || node.tag == NodeKind::A;
        outer.block |= inner.block || node.tag.is_block();
    }
    holds
}

/// Characters that are no spaces, in each subtree.
struct Weights {
    text: Vec<u64>,
    links: Vec<u64>,
}

impl Weights {
    fn for_tree(tree: &Tree<'_>, dropped: &[bool]) -> Self {
        let mut weights = Self {
            text: vec![0; tree.len()],
            links: vec![0; tree.len()],
        };
        for id in tree.ids().skip(1).rev() {
            if dropped[id.index()] {
                continue;
            }
            let node = tree.node(id);
            if node.tag == NodeKind::Text {
                let solid = node.text.bytes().filter(|byte| !byte.is_ascii_whitespace());
                weights.text[id.index()] = solid.count() as u64;
            }
            let text = weights.text[id.index()];
            let links = match node.tag {
                // Without a target it is an anchor, and its words are words.
                NodeKind::A if node.attributes.value("href").is_some() => text,
                _ => weights.links[id.index()],
            };
            weights.text[node.parent.index()] += text;
            weights.links[node.parent.index()] += links;
        }
        weights
    }

    /// Whether the node holds at least so many of 100 characters of the page.
    fn is_share(&self, id: NodeId, percent: u64) -> bool {
        self.text[id.index()] * 100 >= self.text[0] * percent
    }
}

/// The part that the page itself calls the main one, or all of it.
fn declared(tree: &Tree<'_>, marks: &[Mark], dropped: &[bool], good: &Weights) -> NodeId {
    let is_candidate = |id: &NodeId| {
        let is_declared =
            marks[id.index()] == Mark::Declared || tree.node(*id).tag == NodeKind::Article;
        is_declared && !dropped[id.index()] && good.is_share(*id, DECLARED_PERCENT)
    };
    let best = tree.ids().filter(is_candidate).max_by_key(|id| {
        // Of two that hold the same, the outer one, which comes first.
        (good.text[id.index()], std::cmp::Reverse(*id))
    });
    best.unwrap_or(NodeId::ROOT)
}

/// Goes inwards as long as one child holds nearly everything and no heading would be lost.
fn descend(tree: &Tree<'_>, good: &Weights, holds: &[Holds], start: NodeId) -> NodeId {
    let mut here = start;
    loop {
        let largest = tree
            .children(here)
            .max_by_key(|child| good.text[child.index()]);
        let Some(child) = largest else {
            return here;
        };
        // A title may lie deep in what stands before the text.
        let is_lost = |other: NodeId| {
            let is_title = other < child && holds[other.index()].title;
            is_title || tree.node(other).tag.heading().is_some()
        };
        let is_shown = |other: &NodeId| good.text[other.index()] > 0;
        if tree.children(here).filter(is_shown).any(is_lost) {
            return here;
        }
        let holds_nearly_all =
            good.text[child.index()] * 100 >= good.text[here.index()] * DESCENT_PERCENT;
        let is_container = matches!(
            tree.node(child).tag,
            NodeKind::Div
                | NodeKind::Section
                | NodeKind::Article
                | NodeKind::Main
                | NodeKind::Center
                | NodeKind::Table
                | NodeKind::Form
                | NodeKind::Tbody
                | NodeKind::Tr
                | NodeKind::Td
        );
        if !holds_nearly_all || !is_container || good.text[child.index()] == 0 {
            return here;
        }
        here = child;
    }
}

/// A table that was entered and in which no cell holds nearly everything is content as a whole.
fn around_table(tree: &Tree<'_>, mut here: NodeId) -> NodeId {
    while matches!(
        tree.node(here).tag,
        NodeKind::Table | NodeKind::Thead | NodeKind::Tbody | NodeKind::Tfoot | NodeKind::Tr
    ) {
        here = tree.node(here).parent;
    }
    here
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::{ContentLimits, Deadline};

    const PROSE: &str = "A long enough sentence that says what the page is about, and then more \
        of it, so that it outweighs what stands around it.";

    fn main_text(html: &str) -> String {
        let limits = ContentLimits::default();
        let tree = Tree::from_html(html, &limits, &mut Deadline::start(&limits)).unwrap();
        let selection = Selection::main(&tree);
        crate::reading::text(&tree, &selection)
    }

    #[test]
    fn tables_of_names_are_sorted() {
        assert!(MACHINERY.is_sorted());
    }

    #[test]
    fn machinery_is_left_out() {
        for machinery in [
            "<nav>x <a href=1>y</a></nav>",
            "<div class='site-footer'>x</div>",
            "<div id=sidebar><p>x</div>",
            "<div role=navigation>x</div>",
            "<ul><li><a href=1>x</a><li><a href=2>y</a></ul>",
            "<div hidden>x</div>",
            "<p style='color: red; display : none'>x</p>",
            "<header><img>x</header>",
            "<script>x</script>",
        ] {
            let html = format!("{machinery}<div><h1>T</h1><p>{PROSE}</p></div>{machinery}");
            assert_eq!(main_text(&html), format!("T\n\n{PROSE}"), "{machinery}");
        }
    }

    #[test]
    fn content_is_kept_whatever_its_names_say() {
        for (start, end) in [
            ("<div class='page sidebar-left'>", "</div>"),
            ("<form>", "</form>"),
            ("<main>", "</main>"),
            ("<table><tr><td>", "</table>"),
            ("<p>", "</p>"),
            ("<ul><li>", "</ul>"),
            ("<a href=1>", "</a>"),
            ("", ""),
        ] {
            let html = format!("<nav>x</nav>{start}{PROSE}{end}");
            assert_eq!(main_text(&html), PROSE, "{start}");
        }
    }

    #[test]
    fn anchors_are_no_names() {
        for start in [
            "<section id='cookie-menu'>",
            "<div class=section id=footer>",
            "<h2 id=nav>",
        ] {
            let html = format!("<main><p>{PROSE}</p>{start}About menus</main>");
            assert_eq!(
                main_text(&html),
                format!("{PROSE}\n\nAbout menus"),
                "{start}"
            );
        }
    }

    #[test]
    fn headings_stay_whatever_their_links_are() {
        for heading in [
            "<div><h2><a href='#a'>T</a></h2></div>",
            "<div class=titlepage><div><h2><a id=a></a>T</h2></div></div>",
            "<div><h2><a name=a>T</a></h2></div>",
            "<section><h4><a href='#a'>T</a></h4></section>",
            "<header><h5><a href='#a'>T</a></h5></header>",
            "<table><tr><td><h3><a href='#a'>T</a></h3></table>",
            "<div><a name=a>T</a></div>",
        ] {
            let html = format!("<div><p>{PROSE}</p>{heading}<p>{PROSE}</p></div>");
            let expected = format!("{PROSE}\n\nT\n\n{PROSE}");
            assert_eq!(main_text(&html), expected, "{heading}");
        }
    }

    #[test]
    fn a_title_beside_the_text_is_not_left_behind() {
        let html = format!(
            "<div><div><div><h1><a href='#a'>T</a></h1></div></div><div><p>{PROSE}</p></div></div>"
        );
        assert_eq!(main_text(&html), format!("T\n\n{PROSE}"));
    }

    #[test]
    fn a_page_of_links_is_its_links() {
        let html = "<ul><li><a href=1>one</a><li><a href=2>two</a></ul>";
        assert_eq!(main_text(html), "one\ntwo");
    }
}
