//! Texts of JSON: their characters counted, their escapes resolved.

/// The number of code points of UTF-8; None of what is none, such as a surrogate.
pub fn code_points(bytes: &[u8]) -> Option<u64> {
    Some(std::str::from_utf8(bytes).ok()?.chars().count() as u64)
}

/// Resolves the escapes of a text from a place behind its first quote, into the end of `out`.
///
/// Answers with the place behind the quote that ends it. Declined are control characters, escapes
/// that JSON has not, and surrogates that are no pair.
pub fn unescape(line: &[u8], mut at: usize, out: &mut Vec<u8>) -> Option<usize> {
    loop {
        let byte = *line.get(at)?;
        at += 1;
        match byte {
            b'"' => return Some(at),
            b'\\' => at = escape(line, at, out)?,
            0..0x20 => return None,
            _ => out.push(byte),
        }
    }
}

fn escape(line: &[u8], at: usize, out: &mut Vec<u8>) -> Option<usize> {
    let plain = match line.get(at)? {
        byte @ (b'"' | b'\\' | b'/') => *byte,
        b'b' => 8,
        b'f' => 12,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'u' => return unicode(line, at + 1, out),
        _ => return None,
    };
    out.push(plain);
    Some(at + 1)
}

fn unicode(line: &[u8], at: usize, out: &mut Vec<u8>) -> Option<usize> {
    let (mut code, mut end) = (hexadecimal(line, at)?, at + 4);
    if (0xd800..0xdc00).contains(&code) {
        if line.get(end..end + 2)? != b"\\u" {
            return None;
        }
        let low = hexadecimal(line, end + 2)?;
        if !(0xdc00..0xe000).contains(&low) {
            return None;
        }
        code = 0x1_0000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        end += 6;
    }
    // None of a low surrogate alone
    let character = char::from_u32(code)?;
    out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
    Some(end)
}

fn hexadecimal(line: &[u8], at: usize) -> Option<u32> {
    line.get(at..at + 4)?.iter().try_fold(0, |code, byte| {
        Some(code << 4 | (*byte as char).to_digit(16)?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8]) -> Option<(Vec<u8>, usize)> {
        let mut out = Vec::new();
        unescape(text, 0, &mut out).map(|end| (out, end))
    }

    #[test]
    fn escapes_are_resolved() {
        let text = br#"a\"\\\/\b\f\n\r\t\u0041\u00e9\ud83d\ude00" rest"#;
        let expected = "a\"\\/\u{8}\u{c}\n\r\tA\u{e9}\u{1f600}";
        assert_eq!(read(text), Some((expected.into(), text.len() - 5)));
    }

    #[test]
    fn what_is_no_text_is_declined() {
        for text in [
            &b"a"[..],
            b"\\",
            b"\\x\"",
            b"\\u12\"",
            b"\\u12g4\"",
            b"\\ud800\"",
            b"\\ud800\\u0041\"",
            b"\\ud800\\n\"",
            b"\\udc00\"",
            b"a\tb\"",
        ] {
            assert_eq!(read(text), None, "{text:?}");
        }
    }

    #[test]
    fn code_points_are_counted_and_surrogates_refused() {
        assert_eq!(code_points("a\u{e9}\u{1f600}".as_bytes()), Some(3));
        assert_eq!(code_points(b"\xed\xa0\x80"), None);
        assert_eq!(code_points(b"\xff"), None);
    }
}
