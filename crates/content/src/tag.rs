//! The elements of HTML that this crate treats in a way of their own.
//!
//! Owns which names are known and what kind of element each is. It refuses to know of
//! attributes. Invariant: an unknown name is [`NodeKind::Other`], which is inline.

use clewline_html::Name;

macro_rules! tags {
    ($($tag:ident $name:literal)*) => {
        /// A known element, or a piece of text in a tree.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum NodeKind {
            /// Text between tags.
            Text,
            /// An element that means nothing here.
            Other,
            $($tag,)*
        }

        impl NodeKind {
            /// The element of this name.
            pub(crate) const fn named(name: Name) -> Self {
                match name {
                    $(known::$tag => Self::$tag,)*
                    _ => Self::Other,
                }
            }

            /// The name of the element; of what has none here, what it is.
            pub(crate) const fn name(self) -> &'static str {
                match self {
                    Self::Text => "text",
                    Self::Other => "other",
                    $(Self::$tag => match str::from_utf8($name) {
                        Ok(name) => name,
                        Err(_) => panic!("the list has names in ASCII"),
                    },)*
                }
            }
        }

        /// The names of the elements, under those of the elements.
        #[expect(non_upper_case_globals, reason = "one list for the elements and their names")]
        mod known {
            use clewline_html::Name;

            $(pub(super) const $tag: Name = Name::new($name);)*
        }
    };
}

tags! {
    A b"a" Address b"address" Annotation b"annotation" AnnotationXml b"annotation-xml" Area b"area" Article b"article" Aside b"aside" Audio b"audio"
    B b"b" Base b"base" Blockquote b"blockquote" Body b"body" Br b"br" Button b"button"
    Canvas b"canvas" Caption b"caption" Center b"center" Cite b"cite" Code b"code" Col b"col"
    Colgroup b"colgroup" Dd b"dd" Del b"del" Desc b"desc" Details b"details" Dialog b"dialog" Div b"div"
    Dl b"dl" Dt b"dt" Em b"em" Embed b"embed" Fieldset b"fieldset" Figcaption b"figcaption"
    Figure b"figure" Footer b"footer" Form b"form" Frame b"frame" H1 b"h1" H2 b"h2" H3 b"h3" H4 b"h4"
    H5 b"h5" H6 b"h6" Head b"head" Header b"header" Hgroup b"hgroup" Hr b"hr" Html b"html"
    I b"i" Iframe b"iframe" Img b"img" Input b"input" Kbd b"kbd" Legend b"legend" Li b"li"
    Link b"link" Main b"main" Math b"math" Menu b"menu" Meta b"meta" Mfenced b"mfenced" Mfrac b"mfrac"
    Mi b"mi" Mn b"mn" Mo b"mo" Mover b"mover" Mphantom b"mphantom" Mroot b"mroot" Ms b"ms"
    Msqrt b"msqrt" Msub b"msub" Msubsup b"msubsup" Msup b"msup" Mtable b"mtable" Mtd b"mtd"
    Mtext b"mtext" Mtr b"mtr" Munder b"munder" Munderover b"munderover" Nav b"nav"
    Noembed b"noembed" Noframes b"noframes" Noscript b"noscript" Object b"object" Ol b"ol"
    Optgroup b"optgroup" Option b"option" P b"p" Param b"param" Pre b"pre" S b"s" Samp b"samp"
    Script b"script" Section b"section" Select b"select" Source b"source" Span b"span" Strong b"strong"
    Style b"style" Sub b"sub" Summary b"summary" Sup b"sup" Svg b"svg" Table b"table" Tbody b"tbody" Td b"td"
    Template b"template" Textarea b"textarea" Tfoot b"tfoot" Th b"th" Thead b"thead"
    Time b"time" Title b"title" Tr b"tr" Track b"track" Tt b"tt" Ul b"ul" Use b"use" Video b"video"
    Wbr b"wbr" Xmp b"xmp"
}

impl NodeKind {
    /// It has no content and no end tag.
    pub(crate) const fn is_void(self) -> bool {
        matches!(
            self,
            Self::Area
                | Self::Base
                | Self::Br
                | Self::Col
                | Self::Embed
                | Self::Frame
                | Self::Hr
                | Self::Img
                | Self::Input
                | Self::Link
                | Self::Meta
                | Self::Param
                | Self::Source
                | Self::Track
                | Self::Wbr
        )
    }

    /// Nothing in it is read by people.
    pub(crate) const fn is_unread(self) -> bool {
        matches!(
            self,
            Self::Script
                | Self::Style
                | Self::Template
                | Self::Noscript
                | Self::Iframe
                | Self::Noembed
                | Self::Noframes
                | Self::Canvas
                | Self::Object
                | Self::Audio
                | Self::Video
                | Self::Head
                | Self::Title
                | Self::Textarea
                | Self::Select
                | Self::Button
        )
    }

    /// It stands on lines of its own.
    pub(crate) const fn is_block(self) -> bool {
        self.is_container() || self.heading().is_some() || self.is_table_part() || self.is_leaf()
    }

    const fn is_leaf(self) -> bool {
        matches!(
            self,
            Self::P
                | Self::Pre
                | Self::Hr
                | Self::Li
                | Self::Dt
                | Self::Dd
                | Self::Figcaption
                | Self::Summary
                | Self::Legend
                | Self::Caption
                | Self::Option
        )
    }

    const fn is_table_part(self) -> bool {
        matches!(
            self,
            Self::Table | Self::Thead | Self::Tbody | Self::Tfoot | Self::Tr | Self::Td | Self::Th
        )
    }

    const fn is_container(self) -> bool {
        matches!(
            self,
            Self::Html
                | Self::Head
                | Self::Body
                | Self::Address
                | Self::Article
                | Self::Aside
                | Self::Blockquote
                | Self::Center
                | Self::Details
                | Self::Dialog
                | Self::Div
                | Self::Dl
                | Self::Fieldset
                | Self::Figure
                | Self::Footer
                | Self::Form
                | Self::Header
                | Self::Hgroup
                | Self::Main
                | Self::Menu
                | Self::Nav
                | Self::Ol
                | Self::Section
                | Self::Ul
                | Self::Xmp
        )
    }

    /// The level of a heading.
    pub(crate) const fn heading(self) -> Option<u8> {
        match self {
            Self::H1 => Some(1),
            Self::H2 => Some(2),
            Self::H3 => Some(3),
            Self::H4 => Some(4),
            Self::H5 => Some(5),
            Self::H6 => Some(6),
            _ => None,
        }
    }

    /// An open `p` ends where this begins.
    pub(crate) const fn ends_paragraph(self) -> bool {
        self.is_block()
            && !matches!(
                self,
                Self::Td | Self::Th | Self::Tr | Self::Option | Self::Legend | Self::Caption
            )
    }

    /// Unclosed elements inside do not reach out of it, nor stray end tags into what is around.
    pub(crate) const fn is_boundary(self) -> bool {
        matches!(
            self,
            Self::Table | Self::Td | Self::Th | Self::Caption | Self::Template | Self::Html
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_in_any_case() {
        for (name, tag) in [
            ("a", NodeKind::A),
            ("BlockQuote", NodeKind::Blockquote),
            ("FIGCAPTION", NodeKind::Figcaption),
            ("figcaptions", NodeKind::Other),
            ("annotation-xml", NodeKind::AnnotationXml),
            ("my-element", NodeKind::Other),
            ("", NodeKind::Other),
        ] {
            assert_eq!(NodeKind::named(Name::new(name.as_bytes())), tag, "{name}");
        }
        assert_eq!(NodeKind::AnnotationXml.name(), "annotation-xml");
    }
}
