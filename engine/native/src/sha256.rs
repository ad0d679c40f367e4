//! SHA-256 (FIPS 180-4).
//!
//! The machine's own instructions are taken where it has them, which is found when the program runs;
//! the other way is the same, word by word.

const BLOCK: usize = 64;
const START: [u32; 8] = [
    0x6a09_e667,
    0xbb67_ae85,
    0x3c6e_f372,
    0xa54f_f53a,
    0x510e_527f,
    0x9b05_688c,
    0x1f83_d9ab,
    0x5be0_cd19,
];
#[rustfmt::skip]
const CONSTANTS: [u32; 64] = [
    0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
    0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
    0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
    0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7, 0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
    0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
    0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
    0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
    0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
];

/// A way to compute digests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Word by word.
    Scalar,
    /// By the SHA instructions of x86-64.
    #[cfg(target_arch = "x86_64")]
    Sha,
}

impl Way {
    /// The fastest way that this machine has.
    pub fn of_this_machine() -> Self {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("sha")
            && std::arch::is_x86_feature_detected!("ssse3")
            && std::arch::is_x86_feature_detected!("sse4.1")
            && !cfg!(miri)
        {
            return Self::Sha;
        }
        Self::Scalar
    }

    fn compress(self, state: &mut [u32; 8], blocks: &[u8]) {
        match self {
            Self::Scalar => blocks
                .chunks_exact(BLOCK)
                .for_each(|block| compress(state, block)),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `Way::of_this_machine` alone makes this one, where the machine has them
            Self::Sha => unsafe { sha::compress(state, blocks) },
        }
    }
}

/// The digest of some bytes.
pub fn sha256(bytes: &[u8], way: Way) -> [u8; 32] {
    let (blocks, rest) = bytes.split_at(bytes.len() - bytes.len() % BLOCK);
    let mut state = START;
    way.compress(&mut state, blocks);
    // a one, zeros, and the number of bits at the end of a block
    let mut last = [0; 2 * BLOCK];
    last[..rest.len()].copy_from_slice(rest);
    last[rest.len()] = 0x80;
    let end = if rest.len() < BLOCK - 8 {
        BLOCK
    } else {
        2 * BLOCK
    };
    let bits = (bytes.len() as u64) << 3;
    last[end - 8..end].copy_from_slice(&bits.to_be_bytes());
    way.compress(&mut state, &last[..end]);
    let mut digest = [0; 32];
    for (bytes, word) in digest.chunks_exact_mut(4).zip(state) {
        bytes.copy_from_slice(&word.to_be_bytes());
    }
    digest
}

fn compress(state: &mut [u32; 8], block: &[u8]) {
    let mut words = [0u32; 64];
    for (word, bytes) in words.iter_mut().zip(block.chunks_exact(4)) {
        *word = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    }
    for at in 16..64 {
        let (early, late) = (words[at - 15], words[at - 2]);
        let early = early.rotate_right(7) ^ early.rotate_right(18) ^ early >> 3;
        let late = late.rotate_right(17) ^ late.rotate_right(19) ^ late >> 10;
        words[at] = words[at - 16]
            .wrapping_add(early)
            .wrapping_add(words[at - 7])
            .wrapping_add(late);
    }
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;
    for (constant, word) in CONSTANTS.iter().zip(words) {
        let rotated = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
        let one = h
            .wrapping_add(rotated)
            .wrapping_add(e & f ^ !e & g)
            .wrapping_add(*constant)
            .wrapping_add(word);
        let rotated = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
        let two = rotated.wrapping_add(a & b ^ a & c ^ b & c);
        (h, g, f, e) = (g, f, e, d.wrapping_add(one));
        (d, c, b, a) = (c, b, a, one.wrapping_add(two));
    }
    for (sum, word) in state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
        *sum = sum.wrapping_add(word);
    }
}

#[cfg(target_arch = "x86_64")]
mod sha {
    use super::{BLOCK, CONSTANTS};
    use std::arch::x86_64::{
        __m128i, _mm_add_epi32, _mm_alignr_epi8, _mm_blend_epi16, _mm_loadu_si128, _mm_set_epi64x,
        _mm_sha256msg1_epu32, _mm_sha256msg2_epu32, _mm_sha256rnds2_epu32, _mm_shuffle_epi32,
        _mm_shuffle_epi8, _mm_storeu_si128,
    };

    /// As the scalar way; called only where the machine has the instructions.
    #[target_feature(enable = "sha,ssse3,sse4.1")]
    pub(super) unsafe fn compress(state: &mut [u32; 8], blocks: &[u8]) {
        // four words fill a vector, and loads and stores ask for no alignment
        let load = |words: &[u32]| _mm_loadu_si128(words[..4].as_ptr().cast());
        let big_endian = _mm_set_epi64x(0x0c0d_0e0f_0809_0a0b, 0x0405_0607_0001_0203);
        // the instructions have the state as (f, e, b, a) and (h, g, d, c)
        let (badc, hgfe) = (
            _mm_shuffle_epi32(load(&state[..4]), 0xb1),
            _mm_shuffle_epi32(load(&state[4..]), 0x1b),
        );
        let mut abef = _mm_alignr_epi8(badc, hgfe, 8);
        let mut cdgh = _mm_blend_epi16(hgfe, badc, 0xf0);
        for block in blocks.chunks_exact(BLOCK) {
            let before = (abef, cdgh);
            let mut words = [abef; 4];
            for (vector, bytes) in words.iter_mut().zip(block.chunks_exact(16)) {
                *vector = _mm_shuffle_epi8(_mm_loadu_si128(bytes.as_ptr().cast()), big_endian);
            }
            for round in 0..16 {
                if round >= 4 {
                    words = next(words);
                }
                let of_round = words[if round < 4 { round } else { 3 }];
                let sum = _mm_add_epi32(of_round, load(&CONSTANTS[4 * round..]));
                cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
                abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0e));
            }
            abef = _mm_add_epi32(abef, before.0);
            cdgh = _mm_add_epi32(cdgh, before.1);
        }
        let (feba, dchg) = (_mm_shuffle_epi32(abef, 0x1b), _mm_shuffle_epi32(cdgh, 0xb1));
        let halves = [
            _mm_blend_epi16(feba, dchg, 0xf0),
            _mm_alignr_epi8(dchg, feba, 8),
        ];
        for (words, half) in state.chunks_exact_mut(4).zip(halves) {
            _mm_storeu_si128(words.as_mut_ptr().cast(), half);
        }
    }

    /// The next four words of the schedule, after the last sixteen.
    #[target_feature(enable = "sha,ssse3,sse4.1")]
    unsafe fn next([first, second, third, fourth]: [__m128i; 4]) -> [__m128i; 4] {
        let early = _mm_sha256msg1_epu32(first, second);
        let sum = _mm_add_epi32(early, _mm_alignr_epi8(fourth, third, 4));
        [second, third, fourth, _mm_sha256msg2_epu32(sum, fourth)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hexadecimal(bytes: &[u8]) -> String {
        let digests = [Way::Scalar, Way::of_this_machine()].map(|way| sha256(bytes, way));
        assert_eq!(digests[0], digests[1]);
        digests[0]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }

    #[test]
    fn digests_are_those_that_nist_has_published() {
        let long = b"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmno\
            ijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu";
        for (text, digest) in [
            (
                &b""[..],
                "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            ),
            (
                b"abc",
                "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
            ),
            (
                b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
            ),
            (
                long,
                "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1",
            ),
            (
                b"\xbd",
                "68325720aabd7c82f30f554b313d0570c95accbb7dc4b5aae11204c08ffe732b",
            ),
            (
                b"\xc9\x8c\x8e\x55",
                "7abc22c0ae5af26ce93dbb94433a0e0b2e119d014f8e7f65bd56c61ccccd9504",
            ),
        ] {
            assert_eq!(hexadecimal(text), digest);
        }
        for (byte, count, digest) in [
            (
                b'a',
                1_000_000,
                "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
            ),
            (
                0,
                55,
                "02779466cdec163811d078815c633f21901413081449002f24aa3e80f0b88ef7",
            ),
            (
                0,
                56,
                "d4817aa5497628e7c77e6b606107042bbba3130888c5f47a375e6179be789fbb",
            ),
            (
                0,
                57,
                "65a16cb7861335d5ace3c60718b5052e44660726da4cd13bb745381b235a1785",
            ),
            (
                0,
                64,
                "f5a5fd42d16a20302798ef6ed309979b43003d2320d9f0e8ea9831a92759fb4b",
            ),
            (
                0,
                1000,
                "541b3e9daa09b20bf85fa273e5cbd3e80185aa4ec298e765db87742b70138a53",
            ),
            (
                b'A',
                1000,
                "c2e686823489ced2017f6059b8b239318b6364f6dcd835d0a519105a1eadd6e4",
            ),
            (
                b'U',
                1005,
                "f4d62ddec0f3dd90ea1380fa16a5ff8dc4c54b21740650f24afc4120903552b0",
            ),
        ] {
            assert_eq!(hexadecimal(&vec![byte; count]), digest, "{byte} {count}");
        }
    }
}
