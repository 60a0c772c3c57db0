//! Links of a page, found by a small tokenizer that knows comments, raw text and attributes.

use std::borrow::Cow;

use url::Url;

/// The text of a page, and its encoding for queries.
pub(crate) fn decode(content_type: &str, body: &[u8]) -> (String, &'static str) {
    if let Some(wide) = body.strip_prefix(&[0xFF, 0xFE]) {
        let (units, _) = wide.as_chunks::<2>();
        let units: Vec<u16> = units.iter().map(|unit| u16::from_le_bytes(*unit)).collect();
        return (String::from_utf16_lossy(&units), "utf-8");
    }
    let start = String::from_utf8_lossy(&body[..body.len().min(1024)]).into_owned();
    let declared = format!("{content_type} {start}");
    let charset = ["windows-1252", "windows-1251"].into_iter().find(|name| {
        declared.contains(&format!("charset={name}"))
            || declared.contains(&format!("charset=\"{name}\""))
    });
    match charset {
        Some(name) => (body.iter().map(|byte| letter(name, *byte)).collect(), name),
        None => (String::from_utf8_lossy(body).into_owned(), "utf-8"),
    }
}

fn letter(charset: &str, byte: u8) -> char {
    match (charset, byte) {
        ("windows-1251", 0xC0..) => char::from_u32(0x410 + u32::from(byte) - 0xC0).unwrap(),
        _ => char::from(byte),
    }
}

fn encoded(charset: &str, text: &str) -> Vec<u8> {
    let one = |letter: char| match (charset, letter as u32) {
        ("windows-1251", code @ 0x410..=0x44F) => (code - 0x410 + 0xC0) as u8,
        (_, code) => code as u8,
    };
    text.chars().map(one).collect()
}

/// A function of its own, because the answer has to live as long as the question.
fn encoder(charset: &'static str) -> impl Fn(&str) -> Cow<'_, [u8]> {
    move |query| Cow::Owned(encoded(charset, query))
}

/// Everything that a page leads to, resolved, without fragments.
pub(crate) fn links(page: &Url, text: &str, charset: &'static str) -> Vec<Url> {
    let mut base = page.clone();
    let mut found = Vec::new();
    for tag in tags(text) {
        let value = |name: &str| {
            tag.iter()
                .find(|(key, _)| key == name)
                .map(|(_, value)| value)
        };
        let relation = value("rel").map_or("", String::as_str);
        let name = tag[0].0.as_str();
        match name {
            "base" => base = page.join(value("href").unwrap()).unwrap(),
            "a" | "area" if !relation.contains("nofollow") => found.extend(value("href").cloned()),
            "iframe" => found.extend(value("src").cloned()),
            "link" if relation != "stylesheet" => found.extend(value("href").cloned()),
            "meta" => {
                let target = value("content").and_then(|content| content.split_once("url="));
                found.extend(target.map(|(_, target)| target.to_owned()));
            }
            _ => {}
        }
    }
    let encode = encoder(charset);
    let resolve = |reference: &String| {
        let mut options = Url::options().base_url(Some(&base));
        if charset != "utf-8" {
            options = options.encoding_override(Some(&encode));
        }
        let mut url = options.parse(reference).ok()?;
        url.set_fragment(None);
        matches!(url.scheme(), "http" | "https").then_some(url)
    };
    found.iter().filter_map(resolve).collect()
}

/// Names and attributes of the start tags; the first pair is the element's name.
fn tags(text: &str) -> Vec<Vec<(String, String)>> {
    let mut tags = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find('<') {
        rest = &rest[start + 1..];
        if let Some(comment) = rest.strip_prefix("!--") {
            rest = comment.split_once("-->").map_or("", |(_, after)| after);
            continue;
        }
        if !rest.starts_with(|letter: char| letter.is_ascii_alphabetic()) {
            continue;
        }
        let end = rest.find(|letter: char| letter.is_whitespace() || "/>".contains(letter));
        let (name, after) = rest.split_at(end.unwrap_or(rest.len()));
        let name = name.to_ascii_lowercase();
        let mut tag = vec![(name.clone(), String::new())];
        rest = attributes(after, &mut tag);
        tags.push(tag);
        if matches!(name.as_str(), "script" | "style" | "textarea" | "title") {
            let close = format!("</{name}");
            rest = rest.find(&close).map_or("", |at| &rest[at..]);
        }
    }
    tags
}

fn attributes<'a>(mut rest: &'a str, tag: &mut Vec<(String, String)>) -> &'a str {
    loop {
        rest = rest.trim_start_matches(|letter: char| letter.is_whitespace() || letter == '/');
        if let Some(after) = rest.strip_prefix('>') {
            return after;
        }
        let Some(end) = rest.find(|letter: char| letter.is_whitespace() || "=>/".contains(letter))
        else {
            return "";
        };
        let (name, after) = rest.split_at(end);
        let Some(value) = after.trim_start().strip_prefix('=') else {
            tag.push((name.to_ascii_lowercase(), String::new()));
            rest = after;
            continue;
        };
        let value = value.trim_start();
        let quote = value
            .chars()
            .next()
            .filter(|letter| "\"'".contains(*letter));
        let (value, after) = if let Some(quote) = quote {
            value[1..].split_once(quote).unwrap_or((&value[1..], ""))
        } else {
            let end = value.find(|letter: char| letter.is_whitespace() || letter == '>');
            value.split_at(end.unwrap_or(value.len()))
        };
        tag.push((name.to_ascii_lowercase(), unescaped(value)));
        rest = after;
    }
}

fn unescaped(text: &str) -> String {
    let text = text.replace("&#x2F;", "/").replace("&#46;", ".");
    text.replace("&amp;", "&")
}
