//! A block of lines: columns of facts and texts of those that are accepted, the others by number.

use crate::canonical::Canonical;
use crate::fact::integer;
use crate::program::{Kind, Program, Text};
use crate::record::{Reader, State, Taken};
use crate::scan::{Marks, Way};
use crate::sha256::{self, sha256};

const TAG: &[u8] = b"skill_type\"";

/// Texts one after the other, and where each ends.
#[derive(Debug, Default)]
pub struct Texts {
    /// The ends, after a 0.
    pub ends: Vec<i32>,
    /// The bytes.
    pub bytes: Vec<u8>,
}

impl Texts {
    fn clear(&mut self) {
        self.ends.clear();
        self.ends.push(0);
        self.bytes.clear();
    }

    #[inline]
    fn push(&mut self, text: &[u8]) {
        self.bytes.extend_from_slice(text);
        // a block is shorter than 2 GiB, and no text is longer than what it is written as
        self.ends.push(self.bytes.len() as i32);
    }
}

/// The accepted records of one type.
#[derive(Debug, Default)]
pub struct Columns {
    /// The number of the line of each.
    pub records: Vec<i64>,
    /// The positions of those without an answer.
    pub unanswered: Vec<i64>,
    /// A column for each fact.
    pub facts: Vec<Vec<i64>>,
    /// A column for each text.
    pub texts: Vec<Texts>,
    /// The texts of the list that is taken, of all records one after the other.
    pub listed: Texts,
    /// The digest of each record, where they are asked for; zeros of one that is not sure.
    pub digests: Vec<[u8; 32]>,
}

/// Interprets a program over blocks of lines.
#[derive(Debug)]
pub struct Block {
    program: Program,
    way: Way,
    marks: Marks,
    taken: Taken,
    row: Vec<i64>,
    last: usize,
    canonical: Canonical,
    /// How digests of records are computed; None leaves them out.
    pub digesting: Option<sha256::Way>,
    /// The accepted records of the last block, by type.
    pub columns: Vec<Columns>,
    /// The declined lines: the number, where it starts, and its length.
    pub declined: Vec<i64>,
}

impl Block {
    /// Takes the program.
    pub fn new(program: Program) -> Self {
        Self::by(program, Way::of_this_machine())
    }

    /// Takes the program, and a way to scan.
    pub fn by(program: Program, way: Way) -> Self {
        let columns = program.kinds.iter().map(|kind| Columns {
            facts: vec![Vec::new(); kind.facts.len()],
            texts: kind.texts.iter().map(|_| Texts::default()).collect(),
            ..Columns::default()
        });
        Self {
            columns: columns.collect(),
            program,
            way,
            marks: Marks::default(),
            taken: Taken::default(),
            row: Vec::new(),
            last: 0,
            canonical: Canonical::default(),
            digesting: None,
            declined: Vec::new(),
        }
    }

    /// Reads lines, numbered from `first`, and answers with how many they are.
    pub fn run(&mut self, text: &[u8], first: i64) -> i64 {
        for columns in &mut self.columns {
            columns.records.clear();
            columns.unanswered.clear();
            columns.facts.iter_mut().for_each(Vec::clear);
            columns.texts.iter_mut().for_each(Texts::clear);
            columns.listed.clear();
            columns.digests.clear();
        }
        self.declined.clear();
        let (mut start, mut number) = (0, first);
        while start < text.len() {
            let end = self.marks.line(&text[start..], self.way);
            let length = end.unwrap_or(text.len() - start);
            if self.line(&text[start..start + length], number).is_none() {
                self.declined.extend([number, start as i64, length as i64]);
            }
            start += length + 1;
            number += 1;
        }
        number - first
    }

    /// Takes the record of a line; None where it is declined.
    fn line(&mut self, line: &[u8], number: i64) -> Option<()> {
        if line.len() > self.program.limit {
            return None;
        }
        let index = self.kind_of(line)?;
        self.last = index;
        let (kind, columns) = (&self.program.kinds[index], &mut self.columns[index]);
        let is_answered = Reader::new(kind, line, &self.marks, &mut self.taken).read()?;
        self.row.clear();
        for fact in &kind.facts {
            let value = if fact.zero && !is_answered {
                0
            } else {
                integer(kind, fact, &self.taken, line)?
            };
            self.row.push(value);
        }
        let texts = kind.texts.iter().map(|text| self.taken.slot(text.slot));
        let is_there = |text: &Text| self.taken.slot(text.slot).state == State::Text;
        if !kind.texts.iter().all(|text| !text.needed || is_there(text)) {
            return None;
        }
        let all_texts = |list| {
            let mut items = self.taken.items(list, 1);
            items.all(|keys| keys[0].state == State::Text)
        };
        if !kind.listed.is_none_or(all_texts) {
            return None;
        }
        // nothing is declined any more
        for (column, value) in columns.facts.iter_mut().zip(&self.row) {
            column.push(*value);
        }
        for (column, slot) in columns.texts.iter_mut().zip(texts) {
            let is_text = slot.state == State::Text;
            column.push(if is_text {
                self.taken.text(line, slot.bits)
            } else {
                b""
            });
        }
        if let Some(list) = kind.listed {
            for keys in self.taken.items(list, 1) {
                columns.listed.push(self.taken.text(line, keys[0].bits));
            }
        }
        if !is_answered {
            columns.unanswered.push(columns.records.len() as i64);
        }
        if let Some(way) = self.digesting {
            let form = self.canonical.form(kind, line, &self.marks, is_answered);
            columns
                .digests
                .push(form.map_or([0; 32], |form| sha256(form, way)));
        }
        columns.records.push(number);
        Some(())
    }

    /// The type that a line seems to be of; whether it is, the reading decides.
    #[inline]
    fn kind_of(&self, line: &[u8]) -> Option<usize> {
        let tag = tag_in(line, 0).or_else(|| {
            let mut at = 0;
            loop {
                at = self.marks.next_special(at)?;
                if let Some(tag) = tag_in(line, at) {
                    return Some(tag);
                }
                at += 1;
            }
        })?;
        let is_it = |kind: &Kind| kind.tag.stands_at(line, tag);
        if self.program.kinds.get(self.last).is_some_and(is_it) {
            return Some(self.last);
        }
        self.program.kinds.iter().position(is_it)
    }
}

/// The place of the name of the type behind a key that stands here, perhaps after a brace.
#[inline]
fn tag_in(line: &[u8], at: usize) -> Option<usize> {
    let rest = line.get(at..)?;
    let key = rest
        .strip_prefix(b"{")
        .unwrap_or(rest)
        .strip_prefix(b"\"")?;
    let value = key.strip_prefix(TAG)?.trim_ascii_start();
    let value = value.strip_prefix(b":")?.trim_ascii_start();
    Some(line.len() - value.strip_prefix(b"\"")?.len())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::program::VERSION;

    /// The texts of `PROGRAM`, one after the other.
    pub(crate) const TEXTS: &[u8] = br#"t"skill_type"id"n"m"late"#;
    const ALL: i64 = 1 << 40;
    /// Records with a text `id` of 1 to 3 characters, a whole number `n`, and perhaps a map `m`.
    ///
    /// Taken are the number of entries of `m`, their sum, whether there is a text, and the text.
    #[rustfmt::skip]
    pub(crate) const PROGRAM: &[i64] = &[
        VERSION, 1000, 1,
        // the tag, three slots, and one list of one key
        0, 2, 3, 1, 1,
        6,
        // 0: the tag; 1: the text; 2: the number; 3: the number of an entry
        4, -1, 1, 0, 2,
        3, 0, 1, 3,
        6, 1, 0, 9,
        6, 2, 0, 9,
        // 4: the map
        2, -1, 1, ALL, -1, 0, ALL, 3, 1, 2, 1, 0, 0, -1, 0, 0, 1, 2,
        // 5: the record, which is the root
        0, 0b111, -1, 4, 2, 11, 0, 13, 3, 1, 16, 2, 2, 18, 2, 4,
        5,
        // there is none without an answer
        0,
        // the facts, the text, and no list of texts
        3, 0, 6, 0, 0, 9, -1, 0, 0, 14, 0,
        1, 0, 1,
        -1,
    ];
    pub(crate) const LINES: &[u8] =
        b"{\"skill_type\": \"t\", \"id\": \"a\", \"n\": 3, \"m\": {\"x\": 4, \"y\": 5}}\nbad\n";

    fn block(way: Way) -> Block {
        Block::by(Program::parse(PROGRAM, TEXTS).unwrap(), way)
    }

    fn accepts(line: &str) -> bool {
        let [scalar, other] = [Way::Scalar, Way::of_this_machine()].map(|way| {
            let mut block = block(way);
            assert_eq!(block.run(line.as_bytes(), 1), 1);
            assert_eq!(block.columns[0].records.len() + block.declined.len() / 3, 1);
            !block.columns[0].records.is_empty()
        });
        assert_eq!(scalar, other);
        scalar
    }

    #[test]
    fn a_block_becomes_columns_and_the_lines_that_are_declined() {
        for way in [Way::Scalar, Way::of_this_machine()] {
            let mut block = block(way);
            for _ in 0..2 {
                assert_eq!(block.run(LINES, 7), 2);
                let columns = &block.columns[0];
                assert_eq!(columns.records, [7]);
                assert_eq!(columns.facts, [[2], [9], [1]]);
                assert_eq!(
                    (&columns.texts[0].ends[..], &columns.texts[0].bytes[..]),
                    (&[0, 1][..], &b"a"[..])
                );
                assert_eq!(block.declined, [8, LINES.len() as i64 - 4, 3]);
            }
        }
    }

    #[test]
    fn fields_may_stand_in_any_order_and_with_any_white_space() {
        assert!(accepts(r#"{"skill_type":"t","id":"a","n":3}"#));
        assert!(accepts(
            "{ \"n\" :\t3 , \"id\" : \"abc\", \"skill_type\" : \"t\" } \r"
        ));
        assert!(accepts(
            r#" {"id": "\u00e9\ud83d\ude00\n", "skill_type": "t", "n": 0}"#
        ));
        assert!(accepts(r#"{"skill_type":"t","id":"éé€","n":3,"m":{}}"#));
        assert!(accepts(
            r#"{"id": "a", "n": 1, "m": {"s": 1}, "skill_type": "t"}"#
        ));
    }

    #[test]
    fn what_is_not_sure_is_declined() {
        for line in [
            " ",
            "{}",
            "{\"skill_type\"",
            r#"{"skill_type":"t","id":"a","n":3"#,
            r#"{"skill_type":"t","id":"a","n":3}}"#,
            r#"{"skill_type":"t","id":"a","n":3} x"#,
            r#"{"skill_type":"t","id":"a","n":3,}"#,
            r#"{"skill_type":"t","id":"a","n":3,"n":3}"#,
            r#"{"skill_type":"t","id":"a","n":3,"o":3}"#,
            r#"{"skill_type":"t","id":"a","\u006e":3}"#,
            r#"{"skill_type":"t","id":"a"}"#,
            r#"{"skill_type":"u","id":"a","n":3}"#,
            r#"{"skill_type":"t","id":"","n":3}"#,
            r#"{"skill_type":"t","id":"abcd","n":3}"#,
            r#"{"skill_type":"t","id":"éééé","n":3}"#,
            r#"{"skill_type":"t","id":"\u00e9\u00e9\u00e9\u00e9","n":3}"#,
            r#"{"skill_type":"t","id":"\ud800","n":3}"#,
            r#"{"skill_type":"t","id":null,"n":3}"#,
            r#"{"skill_type":"t","id":"a","n":10}"#,
            r#"{"skill_type":"t","id":"a","n":-1}"#,
            r#"{"skill_type":"t","id":"a","n":1.0}"#,
            r#"{"skill_type":"t","id":"a","n":"1"}"#,
            r#"{"skill_type":"t","id":"a","n":3,"m":{"x":1,"x":2}}"#,
            r#"{"skill_type":"t","id":"a","n":3,"m":{"":1}}"#,
            r#"{"skill_type":"t","id":"a","n":3,"m":{"\n":1}}"#,
            r#"{"skill_type":"t","id":"a","n":3,"m":[]}"#,
            "{\"skill_type\":\"t\",\"id\":\"a\u{0}\",\"n\":3}",
            "\u{feff}{\"skill_type\":\"t\",\"id\":\"a\",\"n\":3}",
        ] {
            assert!(!accepts(line), "{line}");
        }
        let long = format!(
            "{{\"skill_type\":\"t\",\"id\":\"a\",\"n\":3{}}}",
            " ".repeat(1000)
        );
        assert!(!accepts(&long));
    }

    #[test]
    fn changed_bytes_never_panic_and_never_go_unnoticed() {
        let mut seed = 3u32;
        let mut random = |limit: usize| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 8) as usize % limit
        };
        let mut blocks = [Way::Scalar, Way::of_this_machine()].map(block);
        let rounds = if cfg!(miri) { 200 } else { 100_000 };
        for _ in 0..rounds {
            let mut text = LINES.to_vec();
            for _ in 0..=random(3) {
                let (at, byte) = (random(text.len()), random(256) as u8);
                match random(3) {
                    0 => text[at] = byte,
                    1 => text.insert(at, byte),
                    _ => drop(text.drain(at..(at + random(8)).min(text.len() - 1).max(at))),
                }
            }
            let lines = blocks.each_mut().map(|block| block.run(&text, 1));
            let taken = blocks
                .each_ref()
                .map(|block| block.columns[0].records.len());
            let ends = text.split(|byte| *byte == b'\n').count() as i64;
            assert_eq!(lines, [ends - i64::from(text.ends_with(b"\n")); 2]);
            assert_eq!(taken[0], taken[1]);
            assert_eq!(taken[0] + blocks[0].declined.len() / 3, lines[0] as usize);
        }
    }
}
