//! The canonical form of a record (RFC 8785), as the engine has it, which a digest covers.
//!
//! Keys are in order, numbers are doubles in their shortest form, and a field that need not be there
//! is left out where it is null or empty. What has a form that is not sure is declined: escaped
//! texts, keys beyond ASCII, and numbers that are not written out.

use crate::cursor::{Cursor, Walk, BRACES, BRACKETS};
use crate::number::Number;
use crate::program::{Field, Kind, Node};
use crate::scan::Marks;
use crate::text::code_points;
use std::io::Write as _;
use std::ops::Range;

/// Maximum number of digits by which every decimal is its own double, and the shortest one.
const SURE_DIGITS: usize = 15;
/// The smallest number that is written out; the largest has fewer digits than a whole double.
const SMALLEST: f64 = 1e-6;
const MOST_WHOLE: usize = 20;

/// A member of an object: its key in the line, and its whole text in the form.
#[derive(Debug)]
struct Member {
    key: Range<usize>,
    text: Range<usize>,
}

/// The canonical form of one record after the other; its memory serves for all.
#[derive(Debug, Default)]
pub struct Canonical {
    text: Vec<u8>,
    ordered: Vec<u8>,
    members: Vec<Member>,
}

impl Canonical {
    /// The form of the record of a line; None where it is declined.
    ///
    /// The line is one that the nodes of its type accept.
    pub fn form(
        &mut self,
        kind: &Kind,
        line: &[u8],
        marks: &Marks,
        is_answered: bool,
    ) -> Option<&[u8]> {
        let Node::Object {
            fields, required, ..
        } = &kind.nodes[kind.root]
        else {
            return None;
        };
        let required = match (&kind.missed, is_answered) {
            (Some(missed), false) => missed.required,
            _ => *required,
        };
        self.text.clear();
        self.members.clear();
        let mut writer = Writer {
            kind,
            cursor: Cursor { line, marks, at: 0 },
            form: self,
        };
        writer.cursor.skip_spaces();
        writer.object(fields, required)?;
        Some(&self.text)
    }
}

/// Writes the form of one record.
struct Writer<'a> {
    kind: &'a Kind,
    cursor: Cursor<'a>,
    form: &'a mut Canonical,
}

impl<'a> Walk<'a> for Writer<'a> {
    #[inline]
    fn cursor(&mut self) -> &mut Cursor<'a> {
        &mut self.cursor
    }
}

impl Writer<'_> {
    /// Writes a value, and answers whether it is what a field has that is left out.
    fn value(&mut self, node: usize) -> Option<bool> {
        let kind = self.kind;
        match &kind.nodes[node] {
            Node::Object {
                fields, required, ..
            } => self.object(fields, *required)?,
            Node::List { many, .. } => return self.list(many.item),
            Node::Map { many, .. } => return self.map(many.item),
            Node::Text { .. } | Node::Choice { .. } => {
                self.text()?;
            }
            Node::Number { .. } | Node::Integer { .. } => self.number()?,
            Node::Truth { .. } => {
                let word: &[u8] = if self.cursor.truth()? {
                    b"true"
                } else {
                    b"false"
                };
                self.form.text.extend_from_slice(word);
            }
            Node::Union { .. } => {
                if self.cursor.peek() == b'n' {
                    self.cursor.word(b"null")?;
                    self.form.text.extend_from_slice(b"null");
                    return Some(true);
                }
                // of a union that is left out there is null
                self.value(kind.nodes[node].member(self.cursor.peek())?)?;
            }
        }
        Some(false)
    }

    fn object(&mut self, fields: &[Field], required: u64) -> Option<()> {
        let (first, start, mut next) = (self.form.members.len(), self.form.text.len(), 0);
        self.members(BRACES, |writer| {
            let begin = writer.form.text.len();
            let key = writer.cursor.at + 1;
            let index = writer.cursor.field(fields, next)?;
            next = index + 1;
            let is_default = writer.member(key..writer.cursor.at - 1, fields[index].node)?;
            if is_default && required >> index & 1 == 0 {
                writer.form.text.truncate(begin);
                writer.form.members.pop();
            }
            Some(())
        })?;
        self.order(first, start)
    }

    fn map(&mut self, node: usize) -> Option<bool> {
        let (first, start) = (self.form.members.len(), self.form.text.len());
        self.members(BRACES, |writer| {
            let key = writer.cursor.at + 1;
            writer.cursor.expect(b'"')?;
            let end = writer.cursor.marks.next_special(key)?;
            writer.cursor.at = end;
            writer.cursor.expect(b'"')?;
            writer.member(key..end, node)?;
            Some(())
        })?;
        let is_empty = self.form.members.len() == first;
        self.order(first, start)?;
        Some(is_empty)
    }

    /// Writes a member whose key is read, and answers as of its value.
    #[inline]
    fn member(&mut self, key: Range<usize>, node: usize) -> Option<bool> {
        let start = self.form.text.len();
        self.form
            .text
            .extend_from_slice(&self.cursor.line[key.start - 1..key.end + 1]);
        self.form.text.push(b':');
        self.cursor.colon()?;
        let is_default = self.value(node)?;
        let text = start..self.form.text.len();
        self.form.members.push(Member { key, text });
        Some(is_default)
    }

    /// Puts the members of an object in order, those from the one `first` on.
    fn order(&mut self, first: usize, start: usize) -> Option<()> {
        let (line, form) = (self.cursor.line, &mut *self.form);
        let members = &mut form.members[first..];
        // of what is ASCII bytes have the order of the units of UTF-16
        if !members.iter().all(|each| line[each.key.clone()].is_ascii()) {
            return None;
        }
        members.sort_unstable_by_key(|each| &line[each.key.clone()]);
        let is_same = |pair: &[Member]| line[pair[0].key.clone()] == line[pair[1].key.clone()];
        if members.windows(2).any(is_same) {
            return None;
        }
        form.ordered.clear();
        for (index, each) in members.iter().enumerate() {
            form.ordered.push(if index == 0 { b'{' } else { b',' });
            form.ordered
                .extend_from_slice(&form.text[each.text.clone()]);
        }
        if members.is_empty() {
            form.ordered.push(b'{');
        }
        form.ordered.push(b'}');
        form.text.truncate(start);
        form.text.extend_from_slice(&form.ordered);
        form.members.truncate(first);
        Some(())
    }

    fn list(&mut self, node: usize) -> Option<bool> {
        let start = self.form.text.len();
        self.form.text.push(b'[');
        self.members(BRACKETS, |writer| {
            if writer.form.text.len() > start + 1 {
                writer.form.text.push(b',');
            }
            writer.value(node)?;
            Some(())
        })?;
        self.form.text.push(b']');
        Some(self.form.text.len() == start + 2)
    }

    /// Writes a text as it is; None of one with escapes.
    fn text(&mut self) -> Option<()> {
        let start = self.cursor.at;
        self.cursor.expect(b'"')?;
        let end = self.cursor.marks.next_special(start + 1)?;
        self.cursor.at = end;
        self.cursor.expect(b'"')?;
        let text = &self.cursor.line[start..=end];
        if self.cursor.marks.has_high(start, end) {
            code_points(text)?;
        }
        self.form.text.extend_from_slice(text);
        Some(())
    }

    fn number(&mut self) -> Option<()> {
        let start = self.cursor.at;
        let number = self.cursor.number()?;
        let written = &self.cursor.line[start..self.cursor.at];
        let out = &mut self.form.text;
        match number {
            // at most fifteen digits, and no −0
            Number::Whole(_) => out.extend_from_slice(written),
            Number::Double(value) => decimal(written, value, out)?,
        }
        Some(())
    }
}

/// Writes a double that is written with a point or an exponent, in its shortest form.
fn decimal(written: &[u8], value: f64, out: &mut Vec<u8>) -> Option<()> {
    if value == 0.0 {
        out.push(b'0');
        return Some(());
    }
    let point = written.iter().position(|byte| *byte == b'.')?;
    let is_plain = !written.iter().any(|byte| matches!(byte, b'e' | b'E'));
    if !is_plain || point > MOST_WHOLE || value.abs() < SMALLEST {
        return None;
    }
    if written.len() > SURE_DIGITS + 1 {
        // the standard library has the shortest digits, and of those the closest
        write!(out, "{value}").ok()?;
        return Some(());
    }
    let zeros = written.iter().rev().take_while(|byte| **byte == b'0');
    let end = written.len() - zeros.count();
    out.extend_from_slice(&written[..if end == point + 1 { point } else { end }]);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::tests::{PROGRAM, TEXTS};
    use crate::program::Program;
    use crate::scan::Way;

    fn form(line: &str) -> Option<String> {
        let program = Program::parse(PROGRAM, TEXTS).unwrap();
        let (mut marks, mut canonical) = (Marks::default(), Canonical::default());
        marks.line(line.as_bytes(), Way::Scalar);
        let form = canonical.form(&program.kinds[0], line.as_bytes(), &marks, true);
        form.map(|text| String::from_utf8(text.to_vec()).unwrap())
    }

    fn number(text: &str) -> Option<String> {
        let Some((Number::Double(value), _)) = crate::number::number(text.as_bytes(), 0) else {
            return None;
        };
        let mut out = Vec::new();
        decimal(text.as_bytes(), value, &mut out)?;
        Some(String::from_utf8(out).unwrap())
    }

    #[test]
    fn keys_are_in_order_and_white_space_is_none() {
        assert_eq!(
            form(" { \"skill_type\" : \"t\",\t\"n\": 3 , \"m\": {\"y\":5, \"x\" :4},\"id\":\"\u{e9}\"} ")
                .unwrap(),
            "{\"id\":\"\u{e9}\",\"m\":{\"x\":4,\"y\":5},\"n\":3,\"skill_type\":\"t\"}"
        );
    }

    #[test]
    fn a_field_that_need_not_be_there_is_left_out_where_it_is_empty() {
        let form = form(r#"{"skill_type": "t", "id": "a", "n": 3, "m": {}}"#);
        assert_eq!(form.unwrap(), r#"{"id":"a","n":3,"skill_type":"t"}"#);
    }

    #[test]
    fn what_is_not_sure_is_declined() {
        for line in [
            r#"{"skill_type": "t", "id": "\u0061", "n": 3}"#,
            r#"{"skill_type": "t", "id": "a", "n": 3, "m": {"é": 4}}"#,
            r#"{"skill_type": "t", "id": "a", "n": 3, "m": {"x": 4, "x": 5}}"#,
            r#"{"skill_type": "t", "id": "a", "n": 3, "n": 3}"#,
            r#"{"skill_type": "t", "id": "a", "n": 1000000000000000}"#,
            r#"{"skill_type": "t", "id": "a", "n": 3"#,
        ] {
            assert_eq!(form(line), None, "{line}");
        }
    }

    #[test]
    fn decimals_are_in_their_shortest_form() {
        for (text, expected) in [
            ("1.0", "1"),
            ("-10.00", "-10"),
            ("0.0", "0"),
            ("0.10", "0.1"),
            ("0.000001", "0.000001"),
            ("123456789.012345", "123456789.012345"),
            ("0.30000000000000004", "0.30000000000000004"),
            ("0.1000000000000000055511151231257827", "0.1"),
            ("9007199254740993.0", "9007199254740992"),
            ("5e-324", ""),
            ("1.5e3", ""),
            ("0.0000009", ""),
            ("123456789012345678901.5", ""),
        ] {
            let expected = (!expected.is_empty()).then(|| expected.into());
            assert_eq!(number(text), expected, "{text}");
        }
    }
}
