//! Compressed bodies, bombs and generated documents, undone by the codecs themselves.

use std::io::Read;

use terrarium::{
    Coding, Page, Site, Web, attributes, bomb, encode, nested, numbered_links, sitemap, zstd_bomb,
};

use crate::client::get;

const ALL: [Coding; 5] = [
    Coding::Gzip,
    Coding::Deflate,
    Coding::RawDeflate,
    Coding::Brotli,
    Coding::Zstd,
];

fn decoded(coding: Coding, bytes: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    let mut reader: Box<dyn Read + '_> = match coding {
        Coding::Gzip => Box::new(flate2::read::GzDecoder::new(bytes)),
        Coding::Deflate => Box::new(flate2::read::ZlibDecoder::new(bytes)),
        Coding::RawDeflate => Box::new(flate2::read::DeflateDecoder::new(bytes)),
        Coding::Brotli => Box::new(brotli::Decompressor::new(bytes, 4096)),
        Coding::Zstd => Box::new(zstd::stream::Decoder::new(bytes).expect("a decoder starts")),
        _ => panic!("a coding without a decoder"),
    };
    reader.read_to_end(&mut body).expect("the body is sound");
    body
}

#[test]
fn every_coding_can_be_undone() {
    for coding in ALL {
        assert_eq!(
            decoded(coding, &encode(coding, b"some text")),
            b"some text",
            "{coding:?}"
        );
        let bomb = bomb(coding, 3);
        assert!(bomb.len() < 8192, "{coding:?}: {}", bomb.len());
        assert_eq!(decoded(coding, &bomb), vec![0; 3 << 20], "{coding:?}");
    }
}

#[test]
fn a_zstd_bomb_asks_for_its_window() {
    let bomb = zstd_bomb(1, 31);
    // RFC 8878 section 3.1.1.1.2: the exponent is in the five high bits, less ten.
    assert_eq!(bomb[5] >> 3, 21);
    assert!(zstd::stream::decode_all(&bomb[..]).is_err());
}

#[test]
fn pages_say_how_they_are_coded() {
    let site = Site::new()
        .page("/", Page::html("{{a.test}}").coded(Coding::Gzip))
        .page(
            "/twice",
            Page::html("twice")
                .coded(Coding::Gzip)
                .coded(Coding::Brotli),
        )
        .page("/bomb", Page::bomb(Coding::Zstd, 64));
    let web = Web::new().site("a.test", site).start();
    let check = |path: &str, header: &str| {
        let answer = get(&web, "a.test", path);
        assert_eq!(answer.header("Content-Encoding").as_deref(), Some(header));
        answer.body().to_vec()
    };
    let origin = web.url("a.test", "");
    assert_eq!(
        decoded(Coding::Gzip, &check("/", "gzip")),
        origin.as_bytes()
    );
    let twice = decoded(Coding::Brotli, &check("/twice", "gzip, br"));
    assert_eq!(decoded(Coding::Gzip, &twice), b"twice");
    assert_eq!(
        decoded(Coding::Zstd, &check("/bomb", "zstd")).len(),
        64 << 20
    );
}

#[test]
fn documents_have_the_shape_asked_for() {
    let count = |text: &str, sign: &str| text.matches(sign).count();
    assert_eq!(count(&numbered_links("/p", 1000), "<a href=\"/p"), 1000);
    assert_eq!(count(&nested(500, "/x"), "<div>"), 500);
    assert_eq!(count(&attributes(50, "/x"), "=v"), 50);
    assert!(sitemap(["/a?b&c"]).contains("<url><loc>/a?b&amp;c</loc></url>"));
}
