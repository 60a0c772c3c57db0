//! A learner as bytes, in which it outlives the process.
//!
//! Owns the order of its figures. Bytes that do not read are as good as none: what was learnt can
//! be learnt again.

use super::super::memory::{PieceFilter, Sample, number};
use super::record::TemplateRecord;
use super::{GivenUp, Learner, Stem, Votes};

impl Learner {
    pub(in super::super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for figure in [self.pages, self.new, self.barren] {
            bytes.extend(figure.to_le_bytes());
        }
        bytes.push(self.trouble);
        self.pieces.write(&mut bytes);
        self.texts.write(&mut bytes);
        self.pairs.write(&mut bytes);
        bytes.push(self.directories.len() as u8);
        bytes.extend(self.directories.iter().flat_map(|it| it.to_le_bytes()));
        bytes.push(self.records.len() as u8);
        for record in &self.records {
            bytes.extend(record.id.to_le_bytes());
            bytes.extend([record.looks, record.recent]);
            bytes.extend(record.points.to_le_bytes());
            bytes.extend(record.pages.to_le_bytes());
            bytes.extend(record.text.to_le_bytes());
            bytes.extend([record.credits, record.waiting]);
        }
        bytes.push(self.stems.len() as u8);
        for stem in &self.stems {
            bytes.extend(stem.id.to_le_bytes());
            bytes.push(stem.debt);
        }
        bytes.push(self.votes.len() as u8);
        for votes in &self.votes {
            bytes.extend(votes.place.to_le_bytes());
            bytes.extend([votes.same, votes.other, votes.alone]);
        }
        bytes.push(self.given_up.len() as u8);
        for given_up in &self.given_up {
            for figure in [given_up.id, given_up.alike, given_up.withheld] {
                bytes.extend(figure.to_le_bytes());
            }
            bytes.push(given_up.template.len() as u8);
            bytes.extend(given_up.template.bytes());
        }
        bytes.extend(self.looks.to_le_bytes());
        bytes.push(self.idle);
        bytes
    }

    pub(in super::super) fn from_bytes(mut bytes: &[u8]) -> Option<Self> {
        let bytes = &mut bytes;
        let (pages, new, barren) = (word(bytes)?, word(bytes)?, word(bytes)?);
        let trouble = number(bytes, 1)? as u8;
        let pieces = PieceFilter::read(bytes)?;
        let texts = Sample::read(bytes)?;
        let pairs = Sample::read(bytes)?;
        let directories = list(bytes, word)?;
        let records = list(bytes, |bytes| {
            Some(TemplateRecord {
                id: word(bytes)?,
                looks: number(bytes, 1)? as u8,
                recent: number(bytes, 1)? as u8,
                points: number(bytes, 2)? as u16,
                pages: number(bytes, 2)? as u16,
                text: word(bytes)?,
                credits: number(bytes, 1)? as u8,
                waiting: number(bytes, 1)? as u8,
            })
        })?;
        let stems = list(bytes, |bytes| {
            Some(Stem {
                id: word(bytes)?,
                debt: number(bytes, 1)? as u8,
            })
        })?;
        let votes = list(bytes, |bytes| {
            Some(Votes {
                place: word(bytes)?,
                same: number(bytes, 1)? as u8,
                other: number(bytes, 1)? as u8,
                alone: number(bytes, 1)? as u8,
            })
        })?;
        let given_up = list(bytes, read_given_up)?;
        // What was written before there were these figures ends here.
        let looks = number(bytes, 2).unwrap_or(0) as u16;
        let idle = number(bytes, 1).unwrap_or(0) as u8;
        Some(Self {
            pages,
            new,
            trouble,
            barren,
            looks,
            idle,
            pieces,
            texts,
            pairs,
            directories,
            records,
            stems,
            votes,
            given_up,
        })
    }
}

fn read_given_up(bytes: &mut &[u8]) -> Option<GivenUp> {
    let (id, alike, withheld) = (word(bytes)?, word(bytes)?, word(bytes)?);
    let length = number(bytes, 1)? as usize;
    let (text, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    let template = std::str::from_utf8(text).ok()?.into();
    Some(GivenUp {
        id,
        template,
        alike,
        withheld,
    })
}

fn word(bytes: &mut &[u8]) -> Option<u32> {
    number(bytes, 4).map(|number| number as u32)
}

fn list<T>(bytes: &mut &[u8], mut read: impl FnMut(&mut &[u8]) -> Option<T>) -> Option<Vec<T>> {
    let count = number(bytes, 1)?;
    (0..count).map(|_| read(bytes)).collect()
}
