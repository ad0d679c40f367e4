//! The cursor: a place in a line, and what is read from there on.

use crate::number::{number, Number};
use crate::program::Field;
use crate::scan::Marks;

/// The brackets of an object or a map.
pub const BRACES: [u8; 2] = *b"{}";
/// The brackets of a list.
pub const BRACKETS: [u8; 2] = *b"[]";

/// A place in a line.
pub struct Cursor<'a> {
    /// The line.
    pub line: &'a [u8],
    /// Its quotes and what is no plain byte.
    pub marks: &'a Marks,
    /// The place.
    pub at: usize,
}

impl Cursor<'_> {
    /// The next byte; 0, which is in no valid line, behind the last.
    #[inline]
    pub fn peek(&self) -> u8 {
        self.line.get(self.at).copied().unwrap_or(0)
    }

    /// The next byte, which is passed.
    #[inline]
    pub fn take(&mut self) -> u8 {
        let byte = self.peek();
        self.at += 1;
        byte
    }

    /// Passes a byte; None where another one stands.
    #[inline]
    pub fn expect(&mut self, byte: u8) -> Option<()> {
        (self.take() == byte).then_some(())
    }

    /// Passes white space.
    #[inline]
    pub fn skip_spaces(&mut self) {
        while matches!(self.peek(), b' ' | b'\t' | b'\r') {
            self.at += 1;
        }
    }

    /// Passes the colon behind a key.
    #[inline]
    pub fn colon(&mut self) -> Option<()> {
        self.skip_spaces();
        self.expect(b':')?;
        self.skip_spaces();
        Some(())
    }

    /// Passes the key of a field, and answers with its index; writers keep the order of the schema,
    /// more or less.
    #[inline]
    pub fn field(&mut self, fields: &[Field], next: usize) -> Option<usize> {
        self.expect(b'"')?;
        let is_here = |field: &Field| field.key.stands_at(self.line, self.at);
        let index = if fields.get(next).is_some_and(is_here) {
            next
        } else {
            fields.iter().position(is_here)?
        };
        self.at += fields[index].key.bytes().len();
        Some(index)
    }

    /// Passes a number.
    #[inline]
    pub fn number(&mut self) -> Option<Number> {
        let (value, end) = number(self.line, self.at)?;
        self.at = end;
        Some(value)
    }

    /// Passes a word.
    #[inline]
    pub fn word(&mut self, word: &[u8]) -> Option<()> {
        let end = self.at + word.len();
        (self.line.get(self.at..end)? == word).then(|| self.at = end)
    }

    /// Passes a truth.
    pub fn truth(&mut self) -> Option<bool> {
        if self.peek() == b't' {
            self.word(b"true").map(|()| true)
        } else {
            self.word(b"false").map(|()| false)
        }
    }
}

/// Walks a line.
pub trait Walk<'a> {
    /// The cursor.
    fn cursor(&mut self) -> &mut Cursor<'a>;

    /// Walks the fields of an object, the entries of a map or the items of a list.
    #[inline]
    fn members(
        &mut self,
        [open, close]: [u8; 2],
        mut each: impl FnMut(&mut Self) -> Option<()>,
    ) -> Option<()> {
        self.cursor().expect(open)?;
        self.cursor().skip_spaces();
        if self.cursor().peek() == close {
            self.cursor().at += 1;
            return Some(());
        }
        loop {
            each(self)?;
            self.cursor().skip_spaces();
            let byte = self.cursor().take();
            if byte == close {
                return Some(());
            }
            if byte != b',' {
                return None;
            }
            self.cursor().skip_spaces();
        }
    }
}
