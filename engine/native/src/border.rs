//! The border: a C ABI. Whoever calls from another language calls these functions, once a block.
//!
//! A panic does not pass it: the answer is that of a failure, and the engine goes its own way.

use crate::block::Block;
use crate::program::{Program, VERSION};
use crate::sha256::Way;
use std::ffi::c_void;
use std::panic::{catch_unwind, AssertUnwindSafe};

/// The version of the programs that this library interprets.
#[no_mangle]
pub extern "C" fn tallystick_native_version() -> i64 {
    VERSION
}

/// Makes what interprets a program; null where the words are none.
///
/// # Safety
///
/// `words` leads to `count` words and `texts` to `length` bytes, which stay while the call lasts.
#[no_mangle]
pub unsafe extern "C" fn tallystick_native_new(
    words: *const i64,
    count: usize,
    texts: *const u8,
    length: usize,
) -> *mut Block {
    let made = catch_unwind(|| {
        // SAFETY: as the caller must see to
        let (words, texts) = unsafe { (slice(words, count), slice(texts, length)) };
        Program::parse(words, texts).map(|program| Box::into_raw(Box::new(Block::new(program))))
    });
    match made {
        Ok(Ok(block)) => block,
        _ => std::ptr::null_mut(),
    }
}

/// Asks for the digest of each record that is accepted from now on.
///
/// # Safety
///
/// `block` is of `tallystick_native_new` and nobody else uses it.
#[no_mangle]
pub unsafe extern "C" fn tallystick_native_digest(block: *mut Block) {
    // SAFETY: as the caller must see to
    if let Some(block) = unsafe { block.as_mut() } {
        block.digesting = Some(Way::of_this_machine());
    }
}

/// Reads a block of lines; the number of them, or −1 where that failed.
///
/// # Safety
///
/// `block` is of `tallystick_native_new` and nobody else uses it; `text` leads to `length` bytes, which
/// stay while the call lasts.
#[no_mangle]
pub unsafe extern "C" fn tallystick_native_run(
    block: *mut Block,
    text: *const u8,
    length: usize,
    first: i64,
) -> i64 {
    if block.is_null() || length > i32::MAX as usize {
        return -1;
    }
    catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: as the caller must see to
        let (block, text) = unsafe { (&mut *block, slice(text, length)) };
        block.run(text, first)
    }))
    .unwrap_or(-1)
}

/// What a column has: of all types, of a type, or of a column of one.
#[repr(u32)]
#[derive(Debug, Clone, Copy)]
enum Part {
    Declined = 0,
    Records = 1,
    Unanswered = 2,
    Fact = 3,
    TextEnds = 4,
    TextBytes = 5,
    ListedEnds = 6,
    ListedBytes = 7,
    Digests = 8,
}

impl Part {
    fn of(number: u32) -> Option<Self> {
        [
            Self::Declined,
            Self::Records,
            Self::Unanswered,
            Self::Fact,
            Self::TextEnds,
            Self::TextBytes,
            Self::ListedEnds,
            Self::ListedBytes,
            Self::Digests,
        ]
        .into_iter()
        .find(|part| *part as u32 == number)
    }
}

/// A column of the last block, which the next one overwrites; its number of values goes to `length`.
///
/// The answer is null, and the number 0, where there is no such column.
///
/// # Safety
///
/// As of `tallystick_native_run`; `length` leads to a place for a number.
#[no_mangle]
pub unsafe extern "C" fn tallystick_native_column(
    block: *const Block,
    part: u32,
    kind: usize,
    index: usize,
    length: *mut usize,
) -> *const c_void {
    if block.is_null() || length.is_null() {
        return std::ptr::null();
    }
    // SAFETY: as the caller must see to
    let block = unsafe { &*block };
    let (start, count) = column(block, part, kind, index).unwrap_or((std::ptr::null(), 0));
    // SAFETY: as above
    unsafe { length.write(count) };
    start
}

fn column(block: &Block, part: u32, kind: usize, index: usize) -> Option<(*const c_void, usize)> {
    let part = Part::of(part)?;
    if matches!(part, Part::Declined) {
        return Some(values(&block.declined));
    }
    let columns = block.columns.get(kind)?;
    Some(match part {
        Part::Declined => return None,
        Part::Records => values(&columns.records),
        Part::Unanswered => values(&columns.unanswered),
        Part::Fact => values(columns.facts.get(index)?),
        Part::TextEnds => values(&columns.texts.get(index)?.ends),
        Part::TextBytes => values(&columns.texts.get(index)?.bytes),
        Part::ListedEnds => values(&columns.listed.ends),
        Part::ListedBytes => values(&columns.listed.bytes),
        Part::Digests => values(&columns.digests),
    })
}

fn values<T>(column: &[T]) -> (*const c_void, usize) {
    (column.as_ptr().cast(), column.len())
}

/// Ends what `tallystick_native_new` made.
///
/// # Safety
///
/// `block` is of `tallystick_native_new`, or null, and nobody uses it afterwards.
#[no_mangle]
pub unsafe extern "C" fn tallystick_native_free(block: *mut Block) {
    if !block.is_null() {
        // SAFETY: as the caller must see to
        drop(unsafe { Box::from_raw(block) });
    }
}

/// The values that a pointer leads to; none of a null.
///
/// # Safety
///
/// A pointer that is not null leads to `count` values, which stay as long as the result is used.
unsafe fn slice<'a, T>(start: *const T, count: usize) -> &'a [T] {
    if start.is_null() || count == 0 {
        &[]
    } else {
        // SAFETY: as the caller must see to
        unsafe { std::slice::from_raw_parts(start, count) }
    }
}
