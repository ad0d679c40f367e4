//! Numbers of JSON: whole numbers of at most fifteen digits, and doubles, correctly rounded.

/// Maximum number of digits of a whole number: each such number is a double.
const MOST_DIGITS: usize = 15;
/// Powers of ten that are doubles exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// A number as it is written.
#[derive(Debug, PartialEq, Clone, Copy)]
pub enum Number {
    /// Without a point or an exponent.
    Whole(i64),
    /// With one of them.
    Double(f64),
}

/// Reads the number at a place, and answers with the place behind it.
///
/// Declined are −0 in any form, numbers that are not finite, longer whole numbers, and what is no
/// number of JSON.
#[inline]
pub fn number(line: &[u8], at: usize) -> Option<(Number, usize)> {
    let negative = line.get(at) == Some(&b'-');
    let first = at + usize::from(negative);
    let (mut mantissa, mut end) = digits(line, first, 0);
    let whole = end - first;
    if whole == 0 || (whole > 1 && line[first] == b'0') {
        return None;
    }
    let next = line.get(end).copied().unwrap_or(0);
    if next != b'.' && next | 32 != b'e' {
        if whole > MOST_DIGITS || (negative && mantissa == 0) {
            return None;
        }
        // at most fifteen digits
        let value = mantissa as i64;
        return Some((Number::Whole(if negative { -value } else { value }), end));
    }
    let (mut exponent, mut total) = (0i64, whole);
    if next == b'.' {
        let start = end + 1;
        (mantissa, end) = digits(line, start, mantissa);
        let places = end - start;
        if places == 0 {
            return None;
        }
        exponent -= places as i64;
        total += places;
    }
    if line.get(end).is_some_and(|byte| byte | 32 == b'e') {
        let (written, behind) = exponent_at(line, end + 1)?;
        exponent += written;
        end = behind;
    }
    // both are doubles exactly, so their product or quotient is rounded once
    let value = if total <= 19 && mantissa <= 1 << 53 && (-22..=22).contains(&exponent) {
        let power = POWERS[exponent.unsigned_abs() as usize];
        let size = if exponent < 0 {
            mantissa as f64 / power
        } else {
            mantissa as f64 * power
        };
        if negative {
            -size
        } else {
            size
        }
    } else {
        std::str::from_utf8(&line[at..end]).ok()?.parse().ok()?
    };
    if !value.is_finite() || (value == 0.0 && negative) {
        return None;
    }
    Some((Number::Double(value), end))
}

/// Reads digits after those of `value`, which wraps where there are too many of them.
#[inline]
fn digits(line: &[u8], mut at: usize, mut value: u64) -> (u64, usize) {
    while let Some(digit) = line.get(at).map(|byte| byte.wrapping_sub(b'0')) {
        if digit > 9 {
            break;
        }
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
        at += 1;
    }
    (value, at)
}

fn exponent_at(line: &[u8], at: usize) -> Option<(i64, usize)> {
    let sign = line.get(at).copied().unwrap_or(0);
    let start = at + usize::from(sign == b'-' || sign == b'+');
    let (_, end) = digits(line, start, 0);
    let count = line[start..end]
        .iter()
        .skip_while(|digit| **digit == b'0')
        .count();
    if start == end {
        return None;
    }
    // beyond four digits every number is 0 or not finite
    let size = if count > 4 {
        99_999
    } else {
        digits(line, start, 0).0 as i64 % 100_000
    };
    Some((if sign == b'-' { -size } else { size }, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<(Number, usize)> {
        number(text.as_bytes(), 0)
    }

    #[test]
    fn whole_numbers_are_read_to_fifteen_digits() {
        assert_eq!(read("0,"), Some((Number::Whole(0), 1)));
        assert_eq!(read("-17]"), Some((Number::Whole(-17), 3)));
        assert_eq!(
            read("999999999999999"),
            Some((Number::Whole(999_999_999_999_999), 15))
        );
        assert_eq!(read("1000000000000000"), None);
    }

    #[test]
    fn what_is_no_number_of_json_is_declined() {
        for text in [
            "", "-", "01", "-01", "1.", ".5", "+1", "1e", "1e+", "NaN", "Infinity", "1.e5",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn minus_zero_and_what_is_not_finite_are_declined() {
        for text in [
            "-0",
            "-0.0",
            "-0e5",
            "-1e-400",
            "1e400",
            "-1e99999999999999999999",
            "1e309",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
        assert_eq!(
            read("1e-99999999999999999999"),
            Some((Number::Double(0.0), 23))
        );
        assert_eq!(
            read("1e00000000000000000000002"),
            Some((Number::Double(100.0), 25))
        );
    }

    #[test]
    fn doubles_are_those_of_the_standard_library() {
        let mut seed = 1u64;
        let mut next = || {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            seed >> 33
        };
        for _ in 0..200_000 {
            let mut text = format!(
                "{}.{:0width$}",
                next() % 1000,
                next(),
                width = next() as usize % 20
            );
            if next() % 4 == 0 {
                text += &format!("e{}", next() as i64 % 700 - 350);
            }
            let expected: f64 = text.parse().unwrap();
            let found = read(&text);
            if expected.is_finite() {
                assert_eq!(
                    found,
                    Some((Number::Double(expected), text.len())),
                    "{text}"
                );
            } else {
                assert_eq!(found, None, "{text}");
            }
        }
    }
}
