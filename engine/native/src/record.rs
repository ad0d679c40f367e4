//! One record: a line is read by the nodes of a program, and what facts need of it is kept.

use crate::cursor::{Cursor, Walk, BRACES, BRACKETS};
use crate::number::Number;
use crate::program::{Field, Kind, Length, Literal, Many, Node, Projection};
use crate::scan::Marks;
use crate::text::{code_points, unescape};

/// Maximum number of entries of a map: each key is compared with those before it.
const MOST_ENTRIES: usize = 64;
/// The highest bit of where a text starts: it stands in the arena, not in the line.
const IN_ARENA: u64 = 1 << 31;

/// The state of a slot, or of a key of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// There is no value.
    Absent,
    /// The value is null.
    Null,
    /// The value is false.
    False,
    /// The value is true.
    True,
    /// A whole number; the bits are those of an `i64`.
    Whole,
    /// A number; the bits are those of an `f64`.
    Double,
    /// A text; the bits are its place.
    Text,
    /// An object or a map.
    Object,
    /// A list.
    List,
}

/// What a slot holds.
#[derive(Debug, Clone, Copy)]
pub struct Slot {
    /// The state.
    pub state: State,
    /// The option of a choice.
    pub option: u32,
    /// What the state says.
    pub bits: u64,
}

impl Slot {
    const ABSENT: Self = Self::of(State::Absent, 0);

    const fn of(state: State, bits: u64) -> Self {
        Self {
            state,
            option: u32::MAX,
            bits,
        }
    }

    /// The number that it holds.
    #[inline]
    pub fn number(&self) -> Option<f64> {
        match self.state {
            State::Double => Some(f64::from_bits(self.bits)),
            State::Whole => Some(self.bits as i64 as f64),
            _ => None,
        }
    }
}

/// A part of what identifies an item; numbers are doubles, and null is as absent.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// The state.
    pub state: State,
    /// What the state says.
    pub bits: u64,
}

/// An item of a list.
#[derive(Debug, Clone, Copy)]
struct Item {
    hash: u64,
    first: usize,
}

/// What was taken of one record; its memory serves for all.
#[derive(Debug, Default)]
pub struct Taken {
    slots: Vec<Slot>,
    keys: Vec<Key>,
    lists: Vec<Vec<Item>>,
    arena: Vec<u8>,
}

impl Taken {
    /// Forgets the record before.
    fn begin(&mut self, kind: &Kind) {
        self.slots.clear();
        self.slots.resize(kind.slots, Slot::ABSENT);
        self.keys.clear();
        self.arena.clear();
        if self.lists.len() < kind.lists.len() {
            self.lists.resize_with(kind.lists.len(), Vec::new);
        }
        for list in &mut self.lists[..kind.lists.len()] {
            list.clear();
        }
    }

    /// A slot.
    #[inline]
    pub fn slot(&self, index: usize) -> &Slot {
        &self.slots[index]
    }

    /// The bytes of a text.
    #[inline]
    pub fn text<'a>(&'a self, line: &'a [u8], bits: u64) -> &'a [u8] {
        match place(bits) {
            Some(range) => &line[range],
            None => {
                let start = (bits >> 32 & !IN_ARENA) as usize;
                &self.arena[start..start + bits as u32 as usize]
            }
        }
    }

    /// The number of items of a list.
    #[inline]
    pub fn count(&self, list: usize) -> usize {
        self.lists[list].len()
    }

    /// The keys of each item of a list.
    #[inline]
    pub fn items(&self, list: usize, width: usize) -> impl Iterator<Item = &[Key]> + '_ {
        self.lists[list]
            .iter()
            .map(move |item| &self.keys[item.first..item.first + width])
    }

    /// Whether two items of lists are the same.
    pub fn is_same(
        &self,
        line: &[u8],
        width: usize,
        (first, at): (usize, usize),
        (second, other): (usize, usize),
    ) -> bool {
        let (one, two) = (self.lists[first][at], self.lists[second][other]);
        one.hash == two.hash
            && (0..width).all(|index| {
                self.is_equal(
                    line,
                    &self.keys[one.first + index],
                    &self.keys[two.first + index],
                )
            })
    }

    /// Whether two keys are the same.
    pub fn is_equal(&self, line: &[u8], one: &Key, two: &Key) -> bool {
        one.state == two.state
            && if one.state == State::Text {
                self.text(line, one.bits) == self.text(line, two.bits)
            } else {
                one.bits == two.bits
            }
    }
}

/// Reads one line.
pub struct Reader<'a> {
    kind: &'a Kind,
    cursor: Cursor<'a>,
    taken: &'a mut Taken,
}

impl<'a> Walk<'a> for Reader<'a> {
    #[inline]
    fn cursor(&mut self) -> &mut Cursor<'a> {
        &mut self.cursor
    }
}

impl<'a> Reader<'a> {
    /// Begins with the record of a line.
    pub fn new(kind: &'a Kind, line: &'a [u8], marks: &'a Marks, taken: &'a mut Taken) -> Self {
        taken.begin(kind);
        Self {
            kind,
            cursor: Cursor { line, marks, at: 0 },
            taken,
        }
    }

    /// Whether the record has an answer; None where the line is declined.
    pub fn read(&mut self) -> Option<bool> {
        let Node::Object {
            fields, required, ..
        } = &self.kind.nodes[self.kind.root]
        else {
            return None;
        };
        self.cursor.skip_spaces();
        let seen = self.object(fields)?;
        self.cursor.skip_spaces();
        if self.cursor.at != self.cursor.line.len() {
            return None;
        }
        if seen & required == *required {
            return Some(true);
        }
        let missed = self.kind.missed.as_ref()?;
        let is_missed = seen & missed.required == missed.required
            && seen & missed.absent == 0
            && self.taken.items(missed.events, 1).any(|keys| {
                keys[0].state == State::Text
                    && self.taken.text(self.cursor.line, keys[0].bits) == &*missed.event
            });
        is_missed.then_some(false)
    }

    #[inline]
    fn set(&mut self, slot: Option<usize>, value: Slot) {
        if let Some(slot) = slot {
            self.taken.slots[slot] = value;
        }
    }

    fn value(&mut self, node: usize) -> Option<()> {
        let kind = self.kind;
        match &kind.nodes[node] {
            Node::Object {
                fields,
                required,
                slot,
            } => {
                if self.object(fields)? & required != *required {
                    return None;
                }
                self.set(*slot, Slot::of(State::Object, 0));
            }
            Node::List { many, slot } => {
                self.list(many)?;
                self.set(*slot, Slot::of(State::List, 0));
            }
            Node::Map {
                many,
                key,
                key_slot,
                slot,
            } => {
                self.map(many, *key, *key_slot)?;
                self.set(*slot, Slot::of(State::Object, 0));
            }
            Node::Text { length, slot } => {
                let bits = self.text(*length)?;
                self.set(*slot, Slot::of(State::Text, bits));
            }
            Node::Choice { options, slot } => {
                let value = self.choice(options)?;
                self.set(*slot, value);
            }
            Node::Number { low, high, slot } => {
                let value = match self.cursor.number()? {
                    Number::Whole(value) => value as f64,
                    Number::Double(value) => value,
                };
                if value < low.0
                    || value > high.0
                    || (low.1 && value == low.0)
                    || (high.1 && value == high.0)
                {
                    return None;
                }
                self.set(*slot, Slot::of(State::Double, value.to_bits()));
            }
            Node::Integer { low, high, slot } => {
                let Number::Whole(value) = self.cursor.number()? else {
                    return None;
                };
                if value < *low || value > *high {
                    return None;
                }
                self.set(*slot, Slot::of(State::Whole, value as u64));
            }
            Node::Truth { slot } => {
                let state = if self.cursor.truth()? {
                    State::True
                } else {
                    State::False
                };
                self.set(*slot, Slot::of(state, 0));
            }
            Node::Union { null, slot, .. } => {
                if self.cursor.peek() == b'n' {
                    self.cursor.word(b"null").filter(|()| *null)?;
                    self.set(*slot, Slot::of(State::Null, 0));
                } else {
                    self.value(kind.nodes[node].member(self.cursor.peek())?)?;
                }
            }
        }
        Some(())
    }

    /// Reads an object, and answers with a bit for each of its fields.
    fn object(&mut self, fields: &[Field]) -> Option<u64> {
        let (mut seen, mut next) = (0u64, 0);
        self.members(BRACES, |reader| {
            let index = reader.cursor.field(fields, next)?;
            if seen >> index & 1 == 1 {
                return None;
            }
            seen |= 1 << index;
            next = index + 1;
            reader.cursor.colon()?;
            reader.value(fields[index].node)
        })?;
        Some(seen)
    }

    fn list(&mut self, many: &Many) -> Option<()> {
        self.many(many, BRACKETS, |_| Some(()))
    }

    fn map(&mut self, many: &Many, length: Length, key_slot: Option<usize>) -> Option<()> {
        let mut names = Vec::<&[u8]>::new();
        self.many(many, BRACES, |reader| {
            let bits = reader.text(length)?;
            let name = place(bits).filter(|_| names.len() < MOST_ENTRIES)?;
            let name = &reader.cursor.line[name];
            if names.contains(&name) {
                return None;
            }
            names.push(name);
            reader.set(key_slot, Slot::of(State::Text, bits));
            reader.cursor.colon()
        })
    }

    /// Reads the items of a list, or the entries of a map, whose keys `key` reads.
    #[inline]
    fn many(
        &mut self,
        many: &Many,
        brackets: [u8; 2],
        mut key: impl FnMut(&mut Self) -> Option<()>,
    ) -> Option<()> {
        let mut count = 0;
        self.members(brackets, |reader| {
            reader.forget(many);
            key(reader)?;
            reader.value(many.item)?;
            count += 1;
            reader.project(&many.projections);
            Some(())
        })?;
        (many.least..=many.most).contains(&count).then_some(())
    }

    #[inline]
    fn forget(&mut self, many: &Many) {
        for slot in &many.slots {
            self.taken.slots[*slot] = Slot::ABSENT;
        }
    }

    /// Collects an item that was read.
    fn project(&mut self, projections: &[Projection]) {
        let (line, taken) = (self.cursor.line, &mut *self.taken);
        for projection in projections {
            if let Some((slot, text)) = &projection.filter {
                let slot = taken.slots[*slot];
                if slot.state != State::Text || taken.text(line, slot.bits) != &**text {
                    continue;
                }
            }
            if projection.needed
                && matches!(
                    taken.slots[projection.keys[0]].state,
                    State::Absent | State::Null
                )
            {
                continue;
            }
            let (first, mut hash) = (taken.keys.len(), 0x9e37_79b9_7f4a_7c15);
            for slot in &projection.keys {
                let key = key_of(&taken.slots[*slot]);
                hash = mixed(hash ^ key.state as u64);
                hash = match key.state {
                    State::Text => hash_of(hash, taken.text(line, key.bits)),
                    _ => mixed(hash ^ key.bits),
                };
                taken.keys.push(key);
            }
            taken.lists[projection.list].push(Item { hash, first });
        }
    }

    /// Reads a text, and answers with its place.
    #[inline]
    fn text(&mut self, length: Length) -> Option<u64> {
        self.cursor.expect(b'"')?;
        let start = self.cursor.at;
        let end = self.cursor.marks.next_special(start)?;
        if self.cursor.line[end] != b'"' {
            return self.escaped(start, length);
        }
        self.cursor.at = end + 1;
        let bytes = &self.cursor.line[start..end];
        let count = if self.cursor.marks.has_high(start, end) {
            code_points(bytes)?
        } else {
            bytes.len() as u64
        };
        if count < length.least || count > length.most {
            return None;
        }
        Some((start as u64) << 32 | bytes.len() as u64)
    }

    #[cold]
    fn escaped(&mut self, start: usize, length: Length) -> Option<u64> {
        let first = self.taken.arena.len();
        self.cursor.at = unescape(self.cursor.line, start, &mut self.taken.arena)?;
        let bytes = &self.taken.arena[first..];
        let count = code_points(bytes)?;
        if count < length.least || count > length.most {
            return None;
        }
        Some((first as u64 | IN_ARENA) << 32 | bytes.len() as u64)
    }

    fn choice(&mut self, options: &[Literal]) -> Option<Slot> {
        self.cursor.expect(b'"')?;
        let option = options
            .iter()
            .position(|option| option.stands_at(self.cursor.line, self.cursor.at))?;
        let start = self.cursor.at;
        self.cursor.at += options[option].bytes().len();
        let length = self.cursor.at - 1 - start;
        Some(Slot {
            state: State::Text,
            option: option as u32,
            bits: (start as u64) << 32 | length as u64,
        })
    }
}

/// Where a text stands in the line; None where it stands in the arena.
#[inline]
fn place(bits: u64) -> Option<std::ops::Range<usize>> {
    let (start, length) = ((bits >> 32) as usize, bits as u32 as usize);
    (bits >> 32 & IN_ARENA == 0).then(|| start..start + length)
}

/// The key that a slot holds: equal values have equal keys, as Python compares them.
#[inline]
fn key_of(slot: &Slot) -> Key {
    match slot.state {
        State::Whole => Key {
            state: State::Double,
            bits: (slot.bits as i64 as f64).to_bits(),
        },
        State::Absent => Key {
            state: State::Null,
            bits: 0,
        },
        state => Key {
            state,
            bits: slot.bits,
        },
    }
}

#[inline]
fn mixed(hash: u64) -> u64 {
    let hash = hash.wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^ hash >> 32
}

#[inline]
fn hash_of(mut hash: u64, text: &[u8]) -> u64 {
    let mut rest = text;
    while let Some((word, behind)) = rest.split_first_chunk::<8>() {
        hash = mixed(hash ^ u64::from_le_bytes(*word));
        rest = behind;
    }
    let mut last = text.len() as u64;
    for byte in rest {
        last = last << 8 | u64::from(*byte);
    }
    mixed(hash ^ last)
}
