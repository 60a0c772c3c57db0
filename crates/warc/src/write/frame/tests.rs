//! Frames as the library reads them.

use proptest::prelude::*;

use super::*;
use crate::write::member::{Coding, Effort, Packer};
use crate::write::repeats::samples::noise;

/// Makes a frame of a head and of pieces after it.
fn framed(packer: &mut Packer, pieces: &[&[u8]], effort: Effort) -> Vec<u8> {
    let mut out = Vec::new();
    let length = pieces.iter().map(|piece| piece.len() as u64).sum();
    let mut member = packer.begin(effort, length, &mut out).unwrap();
    let (head, others) = pieces.split_first().unwrap();
    member.head(head).unwrap();
    for piece in others {
        member.body(piece).unwrap();
    }
    member.end(&[]).unwrap();
    out
}

/// How long the frame of these pieces is.
fn check(pieces: &[&[u8]]) -> usize {
    let whole = pieces.concat();
    let mut packer = Packer::new(Coding::Zstd);
    for effort in [Effort::Cheapest, Effort::Usual] {
        let frame = framed(&mut packer, pieces, effort);
        let size = zstd::zstd_safe::get_frame_content_size(&frame).unwrap();
        assert_eq!(size, Some(whole.len() as u64));
        let read = zstd::stream::decode_all(&frame[..]).unwrap();
        assert!(read == whole, "{} bytes, {effort:?}", whole.len());
        let blocks = pieces.iter().map(|piece| piece.len().div_ceil(WINDOW));
        let most = LONGEST_HEADER + 3 * (1 + blocks.sum::<usize>()) + 4;
        assert!(frame.len() <= whole.len() + most);
        if effort == Effort::Usual {
            return frame.len();
        }
    }
    0
}

#[test]
fn every_length_distance_and_number_of_letters_comes_back() {
    for length in (0..600).chain([65_534, 65_535, 65_536, 65_543, 131_072, 131_073, 140_000]) {
        let run = vec![b'r'; length];
        assert!(check(&[&run]) < 60, "{length}");
        let mut apart = noise(300);
        apart.extend_from_slice(&apart.clone()[..length.min(300)]);
        check(&[&apart]);
    }
    let letters = noise(400);
    for distance in (400..140_000).step_by(1009).chain(65_130..65_137) {
        let mut far = letters.clone();
        far.resize(distance, b'.');
        far.extend_from_slice(&letters);
        let is_near = far.len() <= WINDOW;
        assert_eq!(check(&[&far]) < 500, is_near, "{distance}");
    }
    for count in [
        0, 1, 15, 16, 63, 64, 127, 128, 255, 1000, 65_535, 65_536, 130_000,
    ] {
        let mut late = b"twice is once more than once".repeat(2);
        late.extend(noise(count));
        late.extend_from_slice(&late.clone()[28 + count..]);
        check(&[&late]);
    }
}

#[test]
fn blocks_and_pieces_make_one_frame() {
    let text = "<a href=\"page.html\">page</a>\n".repeat(20_000);
    assert!(check(&[text.as_bytes()]) < text.len() / 100);
    let (text, noise) = (text.as_bytes(), noise(300_000));
    // Distances that were used last are told from block to block, past those that hold none.
    let third = &text[..9000];
    for pieces in [
        &[&b""[..]][..],
        &[b"one"],
        &[third, third, &noise, third],
        &[&noise, text, &noise[..5], text],
        &[&text[..255]],
        &[&text[..256]],
        &[&noise[..65_791]],
        &[&noise[..65_792]],
        &[&noise[..BLOCK]],
        &[&noise[..=BLOCK]],
    ] {
        check(pieces);
    }
}

#[test]
fn letters_of_every_kind_come_back() {
    for count in [255, 256, 257, 258, 259, 1000, 5000, 130_000] {
        let mut state = 7_u32;
        let mut letters = |alphabet: &[u8]| -> Vec<u8> {
            let next = || {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                alphabet[(state >> 16) as usize % alphabet.len()]
            };
            std::iter::repeat_with(next).take(count).collect()
        };
        let plain = letters(b" abcdefghijklmnoprstuvwxyz<>=\"/.\n-");
        let size = check(&[&plain]);
        assert!(
            count < 400 || size < count * 6 / 8 + 100,
            "{size} of {count}"
        );
        let all: Vec<u8> = (0..=255).collect();
        let rare = letters(&all);
        // Blocks that tell the code, know it from before, do without it, and are not there.
        check(&[&plain, &plain, &rare, &plain]);
        check(&[&rare, &plain, b"x", &plain]);
        check(&[&letters(b"aeinorst \x00\x7f\x80\xff")]);
    }
}

#[test]
fn the_same_input_gives_the_same_bytes_whatever_came_before() {
    let mut packer = Packer::new(Coding::Zstd);
    let text = b"one and one and one make three, and one and one make two".repeat(9);
    let first = framed(&mut packer, &[&text], Effort::Usual);
    framed(&mut packer, &[&noise(200_000)], Effort::Usual);
    assert_eq!(framed(&mut packer, &[&text], Effort::Usual), first);
}

#[test]
fn a_wrong_byte_is_noticed() {
    // Nothing in it stands anywhere else, so that each repetition can be told in one way only.
    let once: Vec<u8> = noise(1000).iter().map(|byte| b'a' + byte % 26).collect();
    let text = [&once[..], &once[17..90], &once[120..280]].concat();
    let frame = framed(&mut Packer::new(Coding::Zstd), &[&text], Effort::Usual);
    assert!(
        frame.len() < once.len(),
        "letters and repetitions are coded"
    );
    for at in 0..frame.len() {
        let mut spoilt = frame.clone();
        spoilt[at] ^= 1;
        let read = zstd::stream::decode_all(&spoilt[..]);
        assert!(read.is_err(), "byte {at} of {}", frame.len());
    }
}

proptest! {
    #[test]
    fn what_goes_in_comes_out(pieces in prop::collection::vec("[ab<\n\u{e9}]{0,300}", 1..5)) {
        let pieces: Vec<&[u8]> = pieces.iter().map(String::as_bytes).collect();
        check(&pieces);
    }
}
