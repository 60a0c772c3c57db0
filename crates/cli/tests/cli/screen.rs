//! A terminal's screen, as far as the live block needs one.
//!
//! Knows line breaks, returns, wrapping, moving up, erasing, and skips colours. Anything else
//! fails the test: the command promises to use no more.

/// What a terminal of this width would show.
pub(crate) fn screen(text: &str, width: usize) -> Vec<String> {
    let mut screen = Screen {
        rows: vec![Vec::new()],
        row: 0,
        column: 0,
        width,
    };
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        rest = &rest[character.len_utf8()..];
        match character {
            '\x1b' => rest = screen.obey(rest),
            '\n' => screen.go_down(),
            '\r' => screen.column = 0,
            other => screen.write(other),
        }
    }
    let rows = screen.rows.iter().map(|row| row.iter().collect::<String>());
    let mut rows: Vec<String> = rows.map(|row| row.trim_end().to_owned()).collect();
    while rows.last().is_some_and(String::is_empty) {
        rows.pop();
    }
    rows
}

struct Screen {
    rows: Vec<Vec<char>>,
    row: usize,
    column: usize,
    width: usize,
}

impl Screen {
    fn go_down(&mut self) {
        self.row += 1;
        if self.row == self.rows.len() {
            self.rows.push(Vec::new());
        }
    }

    fn write(&mut self, character: char) {
        assert!(!character.is_control(), "{character:?}");
        if self.column == self.width {
            self.column = 0;
            self.go_down();
        }
        let row = &mut self.rows[self.row];
        if row.len() <= self.column {
            row.resize(self.column + 1, ' ');
        }
        row[self.column] = character;
        self.column += 1;
    }

    /// Obeys the sequence behind an ESC and returns what follows it.
    fn obey<'a>(&mut self, text: &'a str) -> &'a str {
        let body = text.strip_prefix('[').expect("only CSI sequences");
        let end = body.find(|c: char| c.is_ascii_alphabetic()).unwrap();
        let (number, order) = (&body[..end], &body[end..=end]);
        match order {
            "m" => {}
            "A" => self.row = self.row.saturating_sub(number.parse().unwrap()),
            "K" => self.rows[self.row].truncate(self.column),
            "J" => {
                self.rows[self.row].truncate(self.column);
                self.rows.truncate(self.row + 1);
            }
            other => panic!("ESC [ {number} {other}"),
        }
        &body[end + 1..]
    }
}

#[test]
fn a_screen_obeys() {
    let check = |text: &str, width: usize, expected: &[&str]| {
        assert_eq!(screen(text, width), expected, "{text:?}");
    };
    check("one\r\ntwo\r\n\x1b[1A\rx\x1b[K\r\n\x1b[J", 9, &["one", "x"]);
    check("abcdef", 4, &["abcd", "ef"]);
    check("\x1b[31mred\x1b[0m", 9, &["red"]);
    check("a\r\nb\r\nc\r\n\x1b[2A\r\x1b[J", 9, &["a"]);
}
