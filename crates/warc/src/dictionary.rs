//! Dictionaries of zstd, which stand at the beginning of a `.warc.zst`.
//!
//! Owns how one is trained, how it is written as a frame that decoders skip, and how it is found
//! in a file again. Every file carries its own, so no file needs another to be read.

use std::fmt;
use std::io::{self, BufRead, Read};
use std::sync::Arc;

use zstd::stream::read::Decoder;
use zstd::zstd_safe::CDict;

use crate::read::{ReadError, dictionary};

/// What a dictionary frame begins with.
pub(crate) const MAGIC: [u8; 4] = [0x5d, 0x2a, 0x4d, 0x18];
/// What a dictionary that is not packed itself begins with.
const DICTIONARY: [u8; 4] = [0x37, 0xa4, 0x30, 0xec];
/// Bytes of one record that are learnt from: what pages share stands at their beginning.
const OF_ONE: usize = 16 * 1024;
/// Bytes that are learnt from in all. More takes longer and makes files hardly smaller.
const OF_ALL: usize = 4 * 1024 * 1024;

/// What the records of a crawl have in common.
#[derive(Clone, PartialEq, Eq)]
pub struct Dictionary(Arc<[u8]>);

impl fmt::Debug for Dictionary {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Dictionary({} bytes)", self.0.len())
    }
}

impl Dictionary {
    /// Learns a dictionary of at most `size` bytes. Fails if the samples are too few or too
    /// short.
    pub fn train(samples: &[Vec<u8>], size: usize) -> io::Result<Self> {
        let total: usize = samples.iter().map(Vec::len).sum();
        let every = total.div_ceil(OF_ALL).max(1);
        let some: Vec<&[u8]> = samples
            .iter()
            .step_by(every)
            .map(|sample| &sample[..])
            .collect();
        // One that holds most of the samples would have learnt nothing.
        let size = size.min(total / every / 4);
        zstd::dict::from_samples(&some, size).map(|bytes| Self(bytes.into()))
    }

    /// The dictionary at the beginning of a file, if there is one.
    pub fn from_file(input: impl Read) -> Result<Option<Self>, ReadError> {
        let found = dictionary(input)?;
        // Damage may have spared the first bytes.
        let is_sound = found.starts_with(&DICTIONARY) && CDict::try_create(&found, 1).is_some();
        Ok(is_sound.then(|| Self(found.into())))
    }

    /// The bytes as zstd takes them.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The frame with which a file begins.
    pub fn frame(&self) -> Vec<u8> {
        let length = self.0.len() as u32;
        [&MAGIC[..], &length.to_le_bytes(), &self.0].concat()
    }
}

/// The first bytes of at most `most` records of a `.warc.zst` without a dictionary. What cannot
/// be read ends the list.
pub fn samples(mut file: impl BufRead, most: usize) -> Vec<Vec<u8>> {
    let mut samples = Vec::new();
    while samples.len() < most
        && let Ok([_, ..]) = file.fill_buf()
        && let Ok(sample) = sample(&mut file)
    {
        samples.push(sample);
    }
    samples
}

fn sample(file: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut frame = Decoder::with_buffer(file)?.single_frame();
    let mut sample = Vec::new();
    frame
        .by_ref()
        .take(OF_ONE as u64)
        .read_to_end(&mut sample)?;
    io::copy(&mut frame, &mut io::sink())?;
    Ok(sample)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::time::Duration;

    use super::*;
    use crate::read::WarcReader;
    use crate::{Block, Effort, Encoder, Moment, RecordDraft, RecordId, WarcCompression};

    /// A record of a site whose pages are alike.
    fn record(encoder: &mut Encoder, number: u64, body: &[u8], effort: Effort) -> Vec<u8> {
        let id = RecordId::numbered([1; 16], number);
        let date = Moment::since_1970(Duration::from_secs(number));
        let block = Block::message(b"HTTP/1.1 200 OK\r\nServer: test\r\n\r\n").bytes(body);
        let draft = RecordDraft::response(id, date, "http://a.test/", block);
        let mut out = Vec::new();
        encoder.encode(&draft, effort, &mut out).unwrap();
        out
    }

    fn body(number: u64) -> Vec<u8> {
        let words = (0..40).map(|word| format!("<li class=entry>{}</li>", number * 17 + word * 3));
        words.collect::<String>().into_bytes()
    }

    fn trained() -> (Dictionary, Vec<u8>) {
        let mut encoder = Encoder::new(WarcCompression::Zstd);
        let records =
            (0..500).map(|number| record(&mut encoder, number, &body(number), Effort::Usual));
        let file: Vec<u8> = records.flatten().collect();
        let samples = samples(&file[..], 1000);
        assert_eq!(samples.len(), 500);
        let dictionary = Dictionary::train(&samples, 16 * 1024).unwrap();
        assert!(dictionary.bytes().len() <= 16 * 1024);
        (dictionary, file)
    }

    #[test]
    fn frames_have_what_the_specification_asks_for() {
        let (dictionary, without) = trained();
        let mut with = Encoder::with_dictionary(dictionary.clone());
        let mut plain = Encoder::new(WarcCompression::Plain);
        let mut file = dictionary.frame();
        let start = file.len();
        let long: Vec<u8> = (0..60_000).flat_map(body).collect();
        let mut expected = Vec::new();
        for (number, effort) in (0..500).map(|number| (number, Effort::Usual)).chain([
            (500, Effort::Cheapest),
            (501, Effort::Usual),
            (502, Effort::Cheapest),
        ]) {
            let body = if number > 500 {
                long.clone()
            } else {
                body(number)
            };
            let frame = record(&mut with, number, &body, effort);
            let content = record(&mut plain, number, &body, effort);
            let size = zstd::zstd_safe::get_frame_content_size(&frame)
                .ok()
                .flatten();
            assert_eq!(size, Some(content.len() as u64));
            let named = zstd::zstd_safe::get_dict_id_from_frame(&frame);
            assert!(named.is_some() && named == zstd::zstd_safe::get_dict_id(dictionary.bytes()));
            assert_eq!(frame[4] & 4, 4, "no checksum");
            if number == 499 {
                let ours = file.len() - start;
                assert!(ours * 10 < without.len() * 9, "{ours} of {}", without.len());
            }
            file.extend(frame);
            expected.extend(content);
        }
        // The library, told the dictionary, reads it all.
        let mut decoder = Decoder::with_dictionary(&file[start..], dictionary.bytes()).unwrap();
        let mut read = Vec::new();
        decoder.read_to_end(&mut read).unwrap();
        assert!(read == expected);
        // Our reader finds the dictionary in the file, from the beginning and from anywhere.
        let found = Dictionary::from_file(&file[..]).unwrap();
        assert_eq!(found, Some(dictionary));
        let mut reader = WarcReader::new(&file[..]);
        let (mut records, mut last) = (0, 0);
        while let Some(next) = reader.next_record() {
            next.unwrap();
            last = reader.end().unwrap().offset;
            records += 1;
        }
        assert_eq!(records, 503);
        let mut alone = WarcReader::seek(io::Cursor::new(&file), last).unwrap();
        let header = alone.next_record().unwrap().unwrap();
        assert_eq!(header.record_id(), Some(RecordId::numbered([1; 16], 502)));
        let mut block = Vec::new();
        alone.block().read_to_end(&mut block).unwrap();
        assert!(block.ends_with(&long));
    }

    #[test]
    fn a_damaged_dictionary_is_none() {
        let (dictionary, file) = trained();
        assert_eq!(Dictionary::from_file(&file[..]).unwrap(), None);
        assert_eq!(Dictionary::from_file(&b"WARC/1.1\r\n"[..]).unwrap(), None);
        let mut frame = dictionary.frame();
        frame[16..80].fill(0xff);
        assert_eq!(Dictionary::from_file(&frame[..]).unwrap(), None);
    }

    #[test]
    fn samples_end_where_a_file_is_torn() {
        let (_, mut file) = trained();
        let whole = samples(&file[..], 1000).len();
        assert_eq!(samples(&file[..], 7).len(), 7);
        file.truncate(file.len() - 5);
        assert_eq!(samples(&file[..], 1000).len(), whole - 1);
        file.write_all(b"no frame").unwrap();
        assert!(samples(&file[..], 1000).len() < whole);
        assert!(samples(&b""[..], 1000).is_empty());
    }

    #[test]
    fn too_little_to_learn_from_is_an_error() {
        assert!(Dictionary::train(&[], 1 << 16).is_err());
        assert!(Dictionary::train(&[b"one".to_vec()], 1 << 16).is_err());
    }
}
