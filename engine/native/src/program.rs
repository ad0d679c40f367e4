//! The program: what lines must be, and what is taken of them, as words and a table of texts.
//!
//! It comes from outside, so each index in it is checked here, once: afterwards none can be out of
//! range. A node refers to nodes before it alone, so there is no circle and no endless depth.

/// The version of the words; the engine makes programs of this version alone.
pub const VERSION: i64 = 1;

/// Maximum number of fields of an object: one bit of a word for each.
const MOST_FIELDS: i64 = 63;
const MOST_DEPTH: u32 = 64;

/// The reason why words are no program.
#[derive(Debug, PartialEq, Eq)]
pub struct Malformed(pub &'static str);

type Parsed<T> = Result<T, Malformed>;

/// A text of the program, with its first and its last eight bytes as words.
#[derive(Debug, Default)]
pub struct Literal {
    bytes: Box<[u8]>,
    head: u64,
    mask: u64,
    tail: u64,
}

impl Literal {
    /// Takes the bytes.
    pub fn new(bytes: &[u8]) -> Self {
        let mut head = [0; 8];
        let some = bytes.len().min(8);
        head[..some].copy_from_slice(&bytes[..some]);
        let mask = if some == 8 {
            u64::MAX
        } else {
            (1 << (8 * some)) - 1
        };
        Self {
            bytes: bytes.into(),
            head: u64::from_le_bytes(head),
            mask,
            tail: bytes
                .last_chunk()
                .map_or(0, |last| u64::from_le_bytes(*last)),
        }
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether a line has the bytes at a place.
    #[inline]
    pub fn stands_at(&self, line: &[u8], at: usize) -> bool {
        let Some(rest) = line.get(at..) else {
            return false;
        };
        // two comparisons of words decide nearly always, without a call
        let Some(first) = rest.first_chunk() else {
            return rest.starts_with(&self.bytes);
        };
        let length = self.bytes.len();
        if u64::from_le_bytes(*first) & self.mask != self.head {
            return false;
        }
        if length <= 8 {
            return true;
        }
        let Some(last) = rest.get(..length).and_then(<[u8]>::last_chunk) else {
            return false;
        };
        u64::from_le_bytes(*last) == self.tail
            && (length <= 16 || rest[8..length - 8] == self.bytes[8..length - 8])
    }
}

/// A field of an object.
#[derive(Debug)]
pub struct Field {
    /// The key with the quote that ends it.
    pub key: Literal,
    /// The node of its value.
    pub node: usize,
}

/// Items of a list or a map that facts read: what is kept, and what of each.
#[derive(Debug)]
pub struct Projection {
    /// The slot of a text that must be equal to `text`, and the text.
    pub filter: Option<(usize, Box<[u8]>)>,
    /// Whether an item is passed over whose first key is absent or null.
    pub needed: bool,
    /// The list that collects the items.
    pub list: usize,
    /// The slots of what identifies an item.
    pub keys: Box<[usize]>,
}

/// What is the same of a list and of a map.
#[derive(Debug)]
pub struct Many {
    /// Minimum number of items.
    pub least: u64,
    /// Maximum number of items.
    pub most: u64,
    /// The node of an item.
    pub item: usize,
    /// The slots that belong to one item, which the next one must not see.
    pub slots: Box<[usize]>,
    /// What facts read of it.
    pub projections: Box<[Projection]>,
}

/// Minimum and maximum length of a text, in code points.
#[derive(Debug, Clone, Copy)]
pub struct Length {
    /// The minimum.
    pub least: u64,
    /// The maximum.
    pub most: u64,
}

/// The form of a value. A slot takes the value for the facts that read it.
#[derive(Debug)]
pub enum Node {
    /// An object with these fields and no other.
    Object {
        /// The fields, in the order in which they are expected.
        fields: Box<[Field]>,
        /// A bit for each field that must be there.
        required: u64,
        /// Its slot.
        slot: Option<usize>,
    },
    /// A list.
    List {
        /// Its items.
        many: Many,
        /// Its slot.
        slot: Option<usize>,
    },
    /// An object with any keys.
    Map {
        /// Its values.
        many: Many,
        /// The length of a key.
        key: Length,
        /// The slot of the key of an entry.
        key_slot: Option<usize>,
        /// Its slot.
        slot: Option<usize>,
    },
    /// A text.
    Text {
        /// Its length.
        length: Length,
        /// Its slot.
        slot: Option<usize>,
    },
    /// One of some texts.
    Choice {
        /// The texts, each with the quote that ends it.
        options: Box<[Literal]>,
        /// Its slot.
        slot: Option<usize>,
    },
    /// A number.
    Number {
        /// The minimum, and whether it is itself excluded.
        low: (f64, bool),
        /// The maximum, likewise.
        high: (f64, bool),
        /// Its slot.
        slot: Option<usize>,
    },
    /// A whole number.
    Integer {
        /// The minimum.
        low: i64,
        /// The maximum.
        high: i64,
        /// Its slot.
        slot: Option<usize>,
    },
    /// A truth.
    Truth {
        /// Its slot.
        slot: Option<usize>,
    },
    /// One of several forms, of different JSON types.
    Union {
        /// The node of an object or a map.
        object: Option<usize>,
        /// The node of a list.
        list: Option<usize>,
        /// The node of a text or a choice.
        text: Option<usize>,
        /// The node of a number or a whole number.
        number: Option<usize>,
        /// The node of a truth.
        truth: Option<usize>,
        /// Whether it can be null.
        null: bool,
        /// Its slot, for null; the forms have the same one.
        slot: Option<usize>,
    },
}

impl Node {
    /// The node of a union that a value has by its first byte; null is none of them.
    #[inline]
    pub fn member(&self, first: u8) -> Option<usize> {
        let Self::Union {
            object,
            list,
            text,
            number,
            truth,
            ..
        } = self
        else {
            return None;
        };
        match first {
            b'{' => *object,
            b'[' => *list,
            b'"' => *text,
            b't' | b'f' => *truth,
            _ => *number,
        }
    }
}

/// How a fact comes of what was taken.
#[derive(Debug)]
pub enum Reading {
    /// A number in nano; `missing` where there is none.
    Number {
        /// Where it is.
        slot: usize,
        /// In its place.
        missing: Option<i64>,
    },
    /// A whole number; `missing` where there is none.
    Integer {
        /// Where it is.
        slot: usize,
        /// In its place.
        missing: Option<i64>,
    },
    /// Whether a value is true.
    Flag(usize),
    /// Whether there is a value that is not null.
    Given(usize),
    /// Whether a value is an object.
    Itemised(usize),
    /// The position of a choice, by the option of the node.
    Choice(usize, Box<[i64]>),
    /// How many items.
    Count(usize),
    /// How many different items.
    Distinct(usize),
    /// How many different items two lists share.
    Overlap(usize, usize),
    /// The sum of a whole number and of those of a list.
    Sum(Option<usize>, Option<usize>),
    /// The largest whole number of a list, or what stands for none.
    Largest(usize, i64),
    /// The smallest whole number of a list, or what stands for none.
    Smallest(usize, i64),
    /// The sum by which the entries of a list exceed those of the same key in another.
    Excess(usize, usize),
    /// Whether two values are there and the same; perhaps with ASCII letters folded.
    Equal(usize, usize, bool),
    /// Whether there is a text.
    IsText(usize),
}

/// A fact.
#[derive(Debug)]
pub struct Fact {
    /// How it is read.
    pub reading: Reading,
    /// Whether it is 0 of a record without an answer.
    pub zero: bool,
}

/// A record without an answer.
#[derive(Debug)]
pub struct Missed {
    /// The fields that it must have.
    pub required: u64,
    /// The fields that it must not have.
    pub absent: u64,
    /// The list of its events.
    pub events: usize,
    /// The event that it must have.
    pub event: Box<[u8]>,
}

/// A text that is taken.
#[derive(Debug)]
pub struct Text {
    /// Where it is.
    pub slot: usize,
    /// Whether a record without it is declined; its text is empty otherwise.
    pub needed: bool,
}

/// The records of one type.
#[derive(Debug)]
pub struct Kind {
    /// The name of the type with the quote that ends it.
    pub tag: Literal,
    /// The forms of all values.
    pub nodes: Box<[Node]>,
    /// The node of the record, which is an object.
    pub root: usize,
    /// How many slots there are.
    pub slots: usize,
    /// How many keys an item has, for each list.
    pub lists: Box<[usize]>,
    /// What a record without an answer is; None where there is none.
    pub missed: Option<Missed>,
    /// The facts.
    pub facts: Box<[Fact]>,
    /// The texts that are taken.
    pub texts: Box<[Text]>,
    /// The list of texts that is taken.
    pub listed: Option<usize>,
}

/// What lines must be, and what is taken of them.
#[derive(Debug)]
pub struct Program {
    /// The longest line, in bytes.
    pub limit: usize,
    /// The types.
    pub kinds: Box<[Kind]>,
}

impl Program {
    /// Reads a program.
    pub fn parse(words: &[i64], texts: &[u8]) -> Parsed<Self> {
        let mut words = Words { words, texts };
        if words.next()? != VERSION {
            return Err(Malformed("another version"));
        }
        let limit = words.size()?;
        let kinds = words.many(|words| words.kind())?;
        if words.words.is_empty() {
            Ok(Self { limit, kinds })
        } else {
            Err(Malformed("words after the end"))
        }
    }
}

struct Words<'a> {
    words: &'a [i64],
    texts: &'a [u8],
}

impl Words<'_> {
    fn next(&mut self) -> Parsed<i64> {
        let (first, rest) = self.words.split_first().ok_or(Malformed("too few words"))?;
        self.words = rest;
        Ok(*first)
    }

    fn size(&mut self) -> Parsed<usize> {
        usize::try_from(self.next()?).map_err(|_| Malformed("a negative size"))
    }

    fn truth(&mut self) -> Parsed<bool> {
        match self.next()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Malformed("no truth")),
        }
    }

    fn double(&mut self) -> Parsed<f64> {
        Ok(f64::from_bits(self.next()? as u64))
    }

    fn below(&mut self, limit: usize) -> Parsed<usize> {
        let index = self.size()?;
        if index < limit {
            Ok(index)
        } else {
            Err(Malformed("an index out of range"))
        }
    }

    /// An index, or −1 for none.
    fn perhaps_below(&mut self, limit: usize) -> Parsed<Option<usize>> {
        if self.words.first() == Some(&-1) {
            self.words = &self.words[1..];
            return Ok(None);
        }
        self.below(limit).map(Some)
    }

    fn perhaps(&mut self) -> Parsed<Option<i64>> {
        let (has, value) = (self.truth()?, self.next()?);
        Ok(has.then_some(value))
    }

    fn text(&mut self) -> Parsed<&[u8]> {
        let (start, length) = (self.size()?, self.size()?);
        start
            .checked_add(length)
            .and_then(|end| self.texts.get(start..end))
            .ok_or(Malformed("a text out of range"))
    }

    fn literal(&mut self) -> Parsed<Literal> {
        let text = self.text()?;
        if text.ends_with(b"\"") {
            Ok(Literal::new(text))
        } else {
            Err(Malformed("a text without a quote at its end"))
        }
    }

    fn many<T>(&mut self, mut read: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Box<[T]>> {
        let count = self.size()?;
        // each has a word at least, so that a false count takes no memory
        if count > self.words.len() {
            return Err(Malformed("too few words"));
        }
        (0..count).map(|_| read(self)).collect()
    }

    fn length(&mut self) -> Parsed<Length> {
        let (least, most) = (self.size()? as u64, self.size()? as u64);
        Ok(Length { least, most })
    }

    fn kind(&mut self) -> Parsed<Kind> {
        let tag = self.literal()?;
        let slots = self.size()?;
        if slots > 1 << 16 {
            return Err(Malformed("too many slots"));
        }
        let lists = self.many(|words| words.below(1 << 8))?;
        let count = self.size()?;
        if count > self.words.len() {
            return Err(Malformed("too few words"));
        }
        let mut nodes = Vec::with_capacity(count);
        let mut depths = Vec::with_capacity(count);
        for _ in 0..count {
            let node = self.node(nodes.len(), slots, &lists)?;
            let depth = 1 + children(&node)
                .map(|child| depths[child])
                .max()
                .unwrap_or(0);
            if depth > MOST_DEPTH {
                return Err(Malformed("too deep"));
            }
            depths.push(depth);
            nodes.push(node);
        }
        let root = self.below(nodes.len())?;
        if !matches!(nodes[root], Node::Object { .. }) {
            return Err(Malformed("a record that is no object"));
        }
        let missed = self.truth()?.then(|| self.missed(&lists)).transpose()?;
        let facts = self.many(|words| words.fact(slots, &lists))?;
        let texts = self.many(|words| {
            Ok(Text {
                slot: words.below(slots)?,
                needed: words.truth()?,
            })
        })?;
        let listed = self.perhaps_below(lists.len())?;
        if listed.is_some_and(|list| lists[list] != 1) {
            return Err(Malformed("a list of no texts"));
        }
        Ok(Kind {
            tag,
            nodes: nodes.into(),
            root,
            slots,
            lists,
            missed,
            facts,
            texts,
            listed,
        })
    }

    fn missed(&mut self, lists: &[usize]) -> Parsed<Missed> {
        let (required, absent) = (self.next()? as u64, self.next()? as u64);
        let events = self.below(lists.len())?;
        if lists[events] != 1 {
            return Err(Malformed("events of no texts"));
        }
        let event = self.text()?.into();
        Ok(Missed {
            required,
            absent,
            events,
            event,
        })
    }

    fn node(&mut self, nodes: usize, slots: usize, lists: &[usize]) -> Parsed<Node> {
        Ok(match self.next()? {
            0 => {
                let required = self.next()? as u64;
                let slot = self.perhaps_below(slots)?;
                let fields = self.many(|words| {
                    Ok(Field {
                        key: words.literal()?,
                        node: words.below(nodes)?,
                    })
                })?;
                if fields.len() as i64 > MOST_FIELDS {
                    return Err(Malformed("too many fields"));
                }
                Node::Object {
                    fields,
                    required,
                    slot,
                }
            }
            1 => Node::List {
                slot: self.perhaps_below(slots)?,
                many: self.collected(nodes, slots, lists)?,
            },
            2 => Node::Map {
                slot: self.perhaps_below(slots)?,
                key: self.length()?,
                key_slot: self.perhaps_below(slots)?,
                many: self.collected(nodes, slots, lists)?,
            },
            3 => Node::Text {
                slot: self.perhaps_below(slots)?,
                length: self.length()?,
            },
            4 => Node::Choice {
                slot: self.perhaps_below(slots)?,
                options: self.many(|words| words.literal())?,
            },
            5 => Node::Number {
                slot: self.perhaps_below(slots)?,
                low: (self.double()?, self.truth()?),
                high: (self.double()?, self.truth()?),
            },
            6 => Node::Integer {
                slot: self.perhaps_below(slots)?,
                low: self.next()?,
                high: self.next()?,
            },
            7 => Node::Truth {
                slot: self.perhaps_below(slots)?,
            },
            8 => Node::Union {
                slot: self.perhaps_below(slots)?,
                null: self.truth()?,
                object: self.perhaps_below(nodes)?,
                list: self.perhaps_below(nodes)?,
                text: self.perhaps_below(nodes)?,
                number: self.perhaps_below(nodes)?,
                truth: self.perhaps_below(nodes)?,
            },
            _ => return Err(Malformed("an unknown node")),
        })
    }

    fn collected(&mut self, nodes: usize, slots: usize, lists: &[usize]) -> Parsed<Many> {
        Ok(Many {
            least: self.size()? as u64,
            most: self.size()? as u64,
            item: self.below(nodes)?,
            slots: self.many(|words| words.below(slots))?,
            projections: self.many(|words| words.projection(slots, lists))?,
        })
    }

    fn projection(&mut self, slots: usize, lists: &[usize]) -> Parsed<Projection> {
        let list = self.below(lists.len())?;
        let needed = self.truth()?;
        let slot = self.perhaps_below(slots)?;
        let text: Box<[u8]> = self.text()?.into();
        let keys = self.many(|words| words.below(slots))?;
        if keys.len() != lists[list] || (needed && keys.is_empty()) {
            return Err(Malformed("another number of keys"));
        }
        Ok(Projection {
            filter: slot.map(|slot| (slot, text)),
            needed,
            list,
            keys,
        })
    }

    fn fact(&mut self, slots: usize, lists: &[usize]) -> Parsed<Fact> {
        let zero = self.truth()?;
        let reading = match self.next()? {
            0 => Reading::Number {
                slot: self.below(slots)?,
                missing: self.perhaps()?,
            },
            1 => Reading::Integer {
                slot: self.below(slots)?,
                missing: self.perhaps()?,
            },
            2 => Reading::Flag(self.below(slots)?),
            3 => Reading::Given(self.below(slots)?),
            4 => Reading::Itemised(self.below(slots)?),
            5 => Reading::Choice(self.below(slots)?, self.many(|words| words.next())?),
            6 => Reading::Count(self.below(lists.len())?),
            7 => Reading::Distinct(self.below(lists.len())?),
            8 => Reading::Overlap(self.below(lists.len())?, self.below(lists.len())?),
            9 => Reading::Sum(self.perhaps_below(slots)?, self.perhaps_below(lists.len())?),
            10 => Reading::Largest(self.below(lists.len())?, self.next()?),
            11 => Reading::Smallest(self.below(lists.len())?, self.next()?),
            12 => Reading::Excess(self.below(lists.len())?, self.below(lists.len())?),
            13 => Reading::Equal(self.below(slots)?, self.below(slots)?, self.truth()?),
            14 => Reading::IsText(self.below(slots)?),
            _ => return Err(Malformed("an unknown reading")),
        };
        let width = |list: usize| lists[list];
        let fits = match &reading {
            Reading::Distinct(list) => width(*list) > 0,
            Reading::Overlap(first, second) => width(*first) > 0 && width(*first) == width(*second),
            Reading::Sum(_, Some(list))
            | Reading::Largest(list, _)
            | Reading::Smallest(list, _) => width(*list) == 1,
            Reading::Excess(first, second) => width(*first) == 2 && width(*second) == 2,
            _ => true,
        };
        if fits {
            Ok(Fact { reading, zero })
        } else {
            Err(Malformed("a list of another width"))
        }
    }
}

fn children(node: &Node) -> impl Iterator<Item = usize> + '_ {
    let several: Vec<usize> = match node {
        Node::Object { fields, .. } => fields.iter().map(|field| field.node).collect(),
        Node::List { many, .. } | Node::Map { many, .. } => vec![many.item],
        Node::Union {
            object,
            list,
            text,
            number,
            truth,
            ..
        } => [object, list, text, number, truth]
            .into_iter()
            .flatten()
            .copied()
            .collect(),
        _ => vec![],
    };
    several.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_literal_stands_where_its_bytes_do_and_nowhere_else() {
        for text in [
            "",
            "a",
            "abcdefg",
            "abcdefgh",
            "abcdefghi",
            "abcdefghijklmnopq",
        ] {
            let literal = Literal::new(text.as_bytes());
            for line in [
                "",
                "a",
                "abcdefgX",
                "abcdefghX",
                "abcdefghijklmnopq",
                "Xabcdefghi",
            ] {
                for at in 0..=line.len() + 1 {
                    let expected = line.get(at..).is_some_and(|rest| rest.starts_with(text));
                    assert_eq!(
                        literal.stands_at(line.as_bytes(), at),
                        expected,
                        "{text} {line}"
                    );
                }
            }
        }
    }

    #[test]
    fn words_that_are_no_program_are_refused() {
        let refused = |words: &[i64]| Program::parse(words, b"ab\"").unwrap_err();
        assert_eq!(refused(&[]), Malformed("too few words"));
        assert_eq!(refused(&[99]), Malformed("another version"));
        assert_eq!(
            refused(&[VERSION, 10, 1_000_000]),
            Malformed("too few words")
        );
        assert_eq!(
            refused(&[VERSION, 10, 0, 7]),
            Malformed("words after the end")
        );
        assert_eq!(
            refused(&[VERSION, 10, 1, 2, 9, 0]),
            Malformed("a text out of range")
        );
        // the one node refers to itself
        let circle = [VERSION, 10, 1, 0, 3, 0, 0, 1, 0, 0, -1, 1, 0, 3, 0, 0];
        assert_eq!(refused(&circle), Malformed("an index out of range"));
    }

    #[test]
    fn changed_words_never_panic() {
        let words = crate::block::tests::PROGRAM;
        for index in 0..words.len() {
            for value in [
                -2,
                -1,
                0,
                1,
                2,
                3,
                5,
                8,
                14,
                15,
                1 << 20,
                i64::MAX,
                i64::MIN,
            ] {
                let mut changed = words.to_vec();
                changed[index] = value;
                if let Ok(program) = Program::parse(&changed, crate::block::tests::TEXTS) {
                    let mut block = crate::block::Block::new(program);
                    block.run(crate::block::tests::LINES, 1);
                }
            }
        }
    }
}
