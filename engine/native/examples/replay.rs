//! Replays lines under a program, all from files, through the border: for sanitizers and debuggers.
//!
//! `cargo run --example replay -- WORDS TEXTS LINES`; words are 64 bits each, little-endian. The lines
//! are read as one block, in blocks that end anywhere, and each by itself, every block in memory of its
//! own that ends where it does. All columns are read. The exit status is 1 where a block fails.

use std::ffi::c_void;
use std::{env, fs, process::ExitCode};
use tallystick_native::block::Block;
use tallystick_native::border::{
    tallystick_native_column, tallystick_native_digest, tallystick_native_free,
    tallystick_native_new, tallystick_native_run,
};

const DECLINED: u32 = 0;
const RECORDS: u32 = 1;
/// The columns of a type: the part of `border`, the bytes of a value, and whether there are several.
const COLUMNS: [(u32, usize, bool); 8] = [
    (RECORDS, 8, false),
    (2, 8, false),
    (3, 8, true),
    (4, 4, true),
    (5, 1, true),
    (6, 4, false),
    (7, 1, false),
    (8, 32, false),
];
/// Lengths of blocks that end anywhere; prime, so that they end everywhere.
const LENGTHS: [usize; 2] = [4_093, 65_521];

/// What came of some blocks.
#[derive(Default)]
struct Found {
    lines: i64,
    declined: usize,
    bytes: u64,
}

fn main() -> ExitCode {
    let paths: Vec<String> = env::args().skip(1).collect();
    let [words, texts, lines] = &paths[..] else {
        eprintln!(
            "found {} arguments, expected WORDS TEXTS LINES",
            paths.len()
        );
        return ExitCode::from(2);
    };
    let read = |path: &String| fs::read(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let words: Vec<i64> = read(words)
        .chunks_exact(8)
        .map(|word| i64::from_le_bytes(word.try_into().expect("eight bytes")))
        .collect();
    let (texts, lines) = (read(texts), read(lines));
    // SAFETY: the pointers lead to so many words and bytes, which stay
    let block =
        unsafe { tallystick_native_new(words.as_ptr(), words.len(), texts.as_ptr(), texts.len()) };
    if block.is_null() {
        eprintln!("found no program in {} words", words.len());
        return ExitCode::FAILURE;
    }
    // SAFETY: it was made above
    unsafe { tallystick_native_digest(block) };
    let mut failed = false;
    let mut replay = |name: String, blocks: &mut dyn Iterator<Item = &[u8]>| {
        let mut found = Found::default();
        for text in blocks {
            if !run(block, text, &mut found) {
                eprintln!("a block of {} bytes failed", text.len());
                failed = true;
            }
        }
        println!(
            "{name}: {} lines, {} declined, {} bytes of columns",
            found.lines, found.declined, found.bytes
        );
    };
    replay("one block".into(), &mut std::iter::once(&lines[..]));
    replay("lines".into(), &mut lines.split(|byte| *byte == b'\n'));
    for length in LENGTHS {
        replay(format!("blocks of {length}"), &mut lines.chunks(length));
    }
    // SAFETY: it was made above, and nobody uses it afterwards
    unsafe { tallystick_native_free(block) };
    ExitCode::from(u8::from(failed))
}

/// Reads a block, and every byte of every column that it has.
fn run(block: *mut Block, text: &[u8], found: &mut Found) -> bool {
    // of its own length, so that a sanitizer sees the first byte that is read behind it
    let text: Box<[u8]> = text.into();
    // SAFETY: the block was made by the border; the text stays while the call lasts
    let lines = unsafe { tallystick_native_run(block, text.as_ptr(), text.len(), 1) };
    if lines < 0 {
        return false;
    }
    found.lines += lines;
    let declined = column(block, DECLINED, 0, 0, 8).unwrap_or_default();
    // a line is three numbers
    found.declined += declined.len() / 24;
    let mut columns = vec![declined];
    for kind in (0..).take_while(|kind| column(block, RECORDS, *kind, 0, 8).is_some()) {
        for (part, width, several) in COLUMNS {
            let indexes = 0..if several { usize::MAX } else { 1 };
            columns.extend(indexes.map_while(|index| column(block, part, kind, index, width)));
        }
    }
    for bytes in columns {
        found.bytes += bytes.len() as u64;
        // a sum of all, so that all are read
        std::hint::black_box(bytes.iter().map(|byte| u64::from(*byte)).sum::<u64>());
    }
    true
}

/// The bytes of a column; None where there is none.
fn column<'a>(
    block: *const Block,
    part: u32,
    kind: usize,
    index: usize,
    width: usize,
) -> Option<&'a [u8]> {
    let mut count = 0;
    // SAFETY: the block was made by the border; the count has a place
    let start: *const c_void =
        unsafe { tallystick_native_column(block, part, kind, index, &mut count) };
    if start.is_null() {
        return None;
    }
    // SAFETY: so many values of the width of the part; the next block is read after them
    Some(unsafe { std::slice::from_raw_parts(start.cast(), count * width) })
}
