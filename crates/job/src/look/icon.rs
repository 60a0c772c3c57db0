//! The icons, all of one stroke.
//!
//! Owns their drawings: 16 px, 1.5 px wide lines in the colour of the text. Refuses to know where
//! they stand. Invariant: a reader does not need them, so a word always stands beside one.

/// What an icon says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Icon {
    /// Go on, or begin.
    Play,
    /// Wait.
    Pause,
    /// End.
    Stop,
    /// Add.
    Plus,
    /// Leave out.
    Exclude,
    /// Look for words.
    Search,
    /// Days and months.
    Calendar,
    /// To what was before.
    Previous,
    /// To what comes after.
    Next,
    /// Remove for good.
    Delete,
    /// How fast.
    Speed,
}

impl Icon {
    /// All icons.
    pub const ALL: [Self; 11] = [
        Self::Play,
        Self::Pause,
        Self::Stop,
        Self::Plus,
        Self::Exclude,
        Self::Search,
        Self::Calendar,
        Self::Previous,
        Self::Next,
        Self::Delete,
        Self::Speed,
    ];

    /// The drawing, which readers of the screen pass over.
    pub fn svg(self) -> String {
        let path = match self {
            Self::Play => "M4.5 3v10l8-5z",
            Self::Pause => "M5 3v10M11 3v10",
            Self::Stop => "M4 4h8v8H4z",
            Self::Plus => "M8 3v10M3 8h10",
            Self::Exclude => "M8 2.5a5.5 5.5 0 1 0 .01 0M4 12 12 4",
            Self::Search => "M7 2.5a4.5 4.5 0 1 0 .01 0M10.5 10.5 14 14",
            Self::Calendar => "M2.5 4h11v9.5h-11zM2.5 7h11M5.5 2v3M10.5 2v3",
            Self::Previous => "M10 3 5 8l5 5",
            Self::Next => "M6 3l5 5-5 5",
            Self::Delete => "M3 4.5h10M6 4.5V3h4v1.5M4.5 4.5l.5 9h6l.5-9M8 7.5v3",
            Self::Speed => "M2.5 12a5.5 5.5 0 1 1 11 0M8 12l2.5-4",
        };
        format!(
            "<svg class=icon viewBox=\"0 0 16 16\" width=16 height=16 aria-hidden=true>\
             <path d=\"{path}\"/></svg>"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_icon_is_a_drawing_of_its_own() {
        let mut drawings: Vec<String> = Icon::ALL.iter().map(|icon| icon.svg()).collect();
        drawings.sort();
        drawings.dedup();
        assert_eq!(drawings.len(), Icon::ALL.len());
        assert!(drawings.iter().all(|one| one.contains("aria-hidden=true")));
    }
}
