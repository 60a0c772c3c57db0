//! The fuzz body of the tokenizer: a second opinion must agree.
//!
//! Owns the choice of encoding and cut by the first two bytes. Refuses to know what is right;
//! where the second opinion is known to be wrong, there is nothing to compare.

use encoding_rs::{BIG5, Encoding, GB18030, SHIFT_JIS, UTF_8, WINDOWS_1252};

use crate::extract::oracle;

const ENCODINGS: [&Encoding; 6] = [UTF_8, UTF_8, WINDOWS_1252, SHIFT_JIS, GB18030, BIG5];

/// Cuts that put the boundaries of pieces everywhere.
const CUTS: [usize; 6] = [1, 2, 3, 7, 61, usize::MAX];

/// HTML, by both readers.
pub fn tokenizer(data: &[u8]) {
    let [choice, cut, body @ ..] = data else {
        return;
    };
    let encoding = ENCODINGS[usize::from(*choice) % ENCODINGS.len()];
    let cut = CUTS[usize::from(*cut) % CUTS.len()];
    if let Ok((own, other)) = oracle::opinions(body, encoding, cut) {
        assert_eq!(own, other, "{} in pieces of {cut}", encoding.name());
    }
}

#[cfg(test)]
mod tests {
    use mutate::Trial;

    const TRIAL: Trial<'_> = Trial {
        home: env!("CARGO_MANIFEST_DIR"),
        tokens: &[
            b"<a href=a>",
            b"<a href='",
            b"<img src=",
            b"'",
            b"\"",
            b">",
            b"/>",
            b"=",
            b" ",
            b"<",
            b"</",
            b"<!",
            b"<!--",
            b"-",
            b"-->",
            b"--!>",
            b"<?",
            b"<script>",
            b"</script>",
            b"<style>",
            b"</style>",
            b"<title>",
            b"</title>",
            b"<textarea>",
            b"<noscript>",
            b"</noscript>",
            b"<svg>",
            b"</svg>",
            b"<math>",
            b"</math>",
            b"<mi>",
            b"</mi>",
            b"<desc>",
            b"</desc>",
            b"<p>",
            b"</p>",
            b"<![CDATA[",
            b"]]>",
            b"\0",
            b"<plaintext>",
            b"<base href=/b/>",
            b"<template>",
            b"</template>",
            b"<image href=c src=d>",
            b"<script href=e>",
            b"<foreignObject>",
            b"<iframe srcdoc='<a href=f>'>",
            b"<img data-src=g.png>",
        ],
        rounds: 400,
    };

    #[test]
    fn tokenizer() {
        let trial = Trial {
            rounds: 2000,
            ..TRIAL
        };
        trial.run("tokenizer", super::tokenizer);
    }

    #[test]
    fn pages() {
        TRIAL.run("html", super::tokenizer);
    }
}
