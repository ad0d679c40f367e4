//! The scan: one pass over the bytes of a line finds its end, its quotes and what is not plain.
//!
//! Sixty-four bytes become the bits of three words. Vector instructions do that where the machine has
//! them, found when the program runs; the other way is the same, byte by byte.

const WIDTH: usize = 64;

/// Bits of sixty-four bytes, the first the lowest.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Bits {
    /// Quotes, backslashes and control characters.
    special: u64,
    /// Bytes of characters beyond ASCII.
    high: u64,
    /// Line ends.
    ends: u64,
}

/// The bits of one line.
#[derive(Debug, Default)]
pub struct Marks {
    special: Vec<u64>,
    high: Vec<u64>,
    any_high: u64,
}

impl Marks {
    /// Finds the line at the start of a text: its length without the line end; None where none ends.
    pub fn line(&mut self, text: &[u8], way: Way) -> Option<usize> {
        self.special.clear();
        self.high.clear();
        self.any_high = 0;
        match way {
            Way::Scalar => self.fill(text, bits),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `Way::of_this_machine` alone makes this one, where the machine has AVX2
            Way::Avx2 => unsafe { avx2::fill(self, text) },
        }
    }

    #[inline(always)]
    fn fill(&mut self, text: &[u8], bits: impl Fn(&[u8; WIDTH]) -> Bits) -> Option<usize> {
        let (mut rest, mut passed) = (text, 0);
        while let Some((chunk, behind)) = rest.split_first_chunk::<WIDTH>() {
            if let Some(end) = self.push(bits(chunk)) {
                return Some(passed + end);
            }
            (rest, passed) = (behind, passed + WIDTH);
        }
        let mut last = [b' '; WIDTH];
        last[..rest.len()].copy_from_slice(rest);
        self.push(bits(&last)).map(|end| passed + end)
    }

    #[inline(always)]
    fn push(&mut self, bits: Bits) -> Option<usize> {
        let end = bits.ends.trailing_zeros() as usize;
        // what stands behind the line is of the next one
        let line = if end < WIDTH {
            (1 << end) - 1
        } else {
            u64::MAX
        };
        self.special.push(bits.special & line);
        self.high.push(bits.high & line);
        self.any_high |= bits.high & line;
        (end < WIDTH).then_some(end)
    }

    /// The place of the next quote, backslash or control character of the line.
    #[inline]
    pub fn next_special(&self, at: usize) -> Option<usize> {
        let mut word = at / WIDTH;
        let mut bits = self.special.get(word)? >> (at % WIDTH) << (at % WIDTH);
        while bits == 0 {
            word += 1;
            bits = *self.special.get(word)?;
        }
        Some(word * WIDTH + bits.trailing_zeros() as usize)
    }

    /// Whether there is a character beyond ASCII from one place up to another.
    #[inline]
    pub fn has_high(&self, start: usize, end: usize) -> bool {
        self.any_high != 0
            && (start..end)
                .step_by(WIDTH)
                .chain([end])
                .any(|at| self.high_in(at, start, end))
    }

    fn high_in(&self, at: usize, start: usize, end: usize) -> bool {
        let word = at / WIDTH;
        let Some(mut bits) = self.high.get(word).copied() else {
            return false;
        };
        if word == start / WIDTH {
            bits = bits >> (start % WIDTH) << (start % WIDTH);
        }
        if word == end / WIDTH {
            bits &= (1 << (end % WIDTH)) - 1;
        }
        bits != 0
    }
}

/// A way to scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Byte by byte.
    Scalar,
    /// By vectors of thirty-two bytes.
    #[cfg(target_arch = "x86_64")]
    Avx2,
}

impl Way {
    /// The fastest way that this machine has.
    pub fn of_this_machine() -> Self {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") && !cfg!(miri) {
            return Self::Avx2;
        }
        Self::Scalar
    }
}

fn bits(chunk: &[u8; WIDTH]) -> Bits {
    let mut result = Bits::default();
    for (index, byte) in chunk.iter().enumerate() {
        let special = *byte == b'"' || *byte == b'\\' || *byte < 0x20;
        result.special |= u64::from(special) << index;
        result.high |= u64::from(*byte >= 0x80) << index;
        result.ends |= u64::from(*byte == b'\n') << index;
    }
    result
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::{Bits, Marks, WIDTH};
    use std::arch::x86_64::{
        __m256i, _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_min_epu8, _mm256_movemask_epi8,
        _mm256_or_si256, _mm256_set1_epi8,
    };

    /// As `Marks::line`; called only where the machine has AVX2.
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn fill(marks: &mut Marks, text: &[u8]) -> Option<usize> {
        marks.fill(text, |chunk: &[u8; WIDTH]| {
            // SAFETY: the machine has AVX2, as the caller of `fill` must know
            unsafe { bits(chunk) }
        })
    }

    #[target_feature(enable = "avx2")]
    unsafe fn bits(chunk: &[u8; WIDTH]) -> Bits {
        let mut result = Bits::default();
        for (index, half) in chunk.chunks_exact(WIDTH / 2).enumerate() {
            // half of a chunk has thirty-two bytes, and the load asks for no alignment
            let bytes = _mm256_loadu_si256(half.as_ptr().cast::<__m256i>());
            let control = _mm256_set1_epi8(0x1f);
            let special = _mm256_or_si256(
                _mm256_or_si256(
                    _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(b'"' as i8)),
                    _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(b'\\' as i8)),
                ),
                _mm256_cmpeq_epi8(_mm256_min_epu8(bytes, control), bytes),
            );
            let ends = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(b'\n' as i8));
            let shift = 32 * index;
            let word = |vector: __m256i| u64::from(_mm256_movemask_epi8(vector) as u32) << shift;
            result.special |= word(special);
            result.high |= word(bytes);
            result.ends |= word(ends);
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts() -> Vec<Vec<u8>> {
        let mut seed = 7u32;
        let mut texts = vec![vec![], b"\n".to_vec(), b"a".to_vec()];
        for length in (1..200).chain([1000, 4096]) {
            let text = (0..length).map(|_| {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                [b'a', b'"', b'\\', 0x1f, 0x7f, 0x80, 0xff, b' ', b'z', b'0']
                    [(seed >> 24) as usize % 10]
            });
            let mut text: Vec<u8> = text.collect();
            texts.push(text.clone());
            let place = (seed as usize >> 8) % text.len();
            text[place] = b'\n';
            texts.push(text);
        }
        texts
    }

    #[test]
    fn every_way_finds_what_the_bytes_are() {
        for text in texts() {
            for way in [Way::Scalar, Way::of_this_machine()] {
                let mut marks = Marks::default();
                let end = marks.line(&text, way);
                assert_eq!(end, text.iter().position(|byte| *byte == b'\n'));
                let line = &text[..end.unwrap_or(text.len())];
                let special = |byte: &u8| *byte < 0x20 || *byte == b'"' || *byte == b'\\';
                for at in 0..line.len() {
                    let expected = line[at..].iter().position(special).map(|next| at + next);
                    assert_eq!(marks.next_special(at), expected);
                }
                for start in (0..line.len()).step_by(7) {
                    for end in (start..=line.len()).step_by(11) {
                        let expected = line[start..end].iter().any(|byte| *byte >= 0x80);
                        assert_eq!(marks.has_high(start, end), expected, "{start} {end}");
                    }
                }
            }
        }
    }
}
