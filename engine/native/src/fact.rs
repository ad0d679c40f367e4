//! Facts: one integer each, of what was taken of a record.

use crate::program::{Fact, Kind, Reading};
use crate::record::{Slot, State, Taken};

/// Maximum number of items of a list whose items are compared with each other.
const MOST_COMPARED: usize = 64;
/// Bound of the nano of a number, below that of `i64`.
const MOST_NANO: f64 = 9.0e18;

/// The integer of a fact; None where the line is declined.
pub fn integer(kind: &Kind, fact: &Fact, taken: &Taken, line: &[u8]) -> Option<i64> {
    Some(match &fact.reading {
        Reading::Number { slot, missing } => match taken.slot(*slot).number() {
            Some(value) => nano(value)?,
            None => (*missing)?,
        },
        Reading::Integer { slot, missing } => match taken.slot(*slot) {
            Slot {
                state: State::Whole,
                bits,
                ..
            } => *bits as i64,
            _ => (*missing)?,
        },
        Reading::Flag(slot) => i64::from(taken.slot(*slot).state == State::True),
        Reading::Given(slot) => i64::from(is_given(taken.slot(*slot))),
        Reading::Itemised(slot) => i64::from(taken.slot(*slot).state == State::Object),
        Reading::Choice(slot, positions) => *positions.get(taken.slot(*slot).option as usize)?,
        Reading::Count(list) => taken.count(*list) as i64,
        Reading::Distinct(list) => distinct(kind, taken, line, *list, |_| true)?,
        Reading::Overlap(list, other) => {
            let (width, others) = (kind.lists[*list], comparable(taken, *other)?);
            distinct(kind, taken, line, *list, |at| {
                (0..others).any(|index| taken.is_same(line, width, (*list, at), (*other, index)))
            })?
        }
        Reading::Sum(slot, list) => sum(taken, *slot, *list)?,
        Reading::Largest(list, empty) => wholes(taken, *list)?.max().unwrap_or(*empty),
        Reading::Smallest(list, empty) => wholes(taken, *list)?.min().unwrap_or(*empty),
        Reading::Excess(values, allowed) => excess(taken, line, *values, *allowed)?,
        Reading::Equal(first, second, folded) => i64::from(is_equal(
            taken,
            line,
            taken.slot(*first),
            taken.slot(*second),
            *folded,
        )),
        Reading::IsText(slot) => i64::from(taken.slot(*slot).state == State::Text),
    })
}

/// `rint(x * 1e9)`, as the engine makes nano of a double.
#[inline]
fn nano(value: f64) -> Option<i64> {
    let nano = (value * 1e9).round_ties_even();
    (nano.abs() < MOST_NANO).then_some(nano as i64)
}

fn is_given(slot: &Slot) -> bool {
    !matches!(slot.state, State::Absent | State::Null)
}

fn comparable(taken: &Taken, list: usize) -> Option<usize> {
    let count = taken.count(list);
    (count <= MOST_COMPARED).then_some(count)
}

/// The number of different items of a list that `counts`, by their index.
fn distinct(
    kind: &Kind,
    taken: &Taken,
    line: &[u8],
    list: usize,
    counts: impl Fn(usize) -> bool,
) -> Option<i64> {
    let width = kind.lists[list];
    let is_first =
        |at: usize| !(0..at).any(|before| taken.is_same(line, width, (list, at), (list, before)));
    let count = comparable(taken, list)?;
    Some((0..count).filter(|at| is_first(*at) && counts(*at)).count() as i64)
}

/// The whole numbers of a list; None where it has something else.
fn wholes<'a>(taken: &'a Taken, list: usize) -> Option<impl Iterator<Item = i64> + 'a> {
    let is_number = |keys: &[crate::record::Key]| keys[0].state == State::Double;
    taken.items(list, 1).all(is_number).then(|| {
        // keys are doubles, which hold whole numbers of fifteen digits exactly
        taken
            .items(list, 1)
            .map(|keys| f64::from_bits(keys[0].bits) as i64)
    })
}

fn sum(taken: &Taken, slot: Option<usize>, list: Option<usize>) -> Option<i64> {
    let mut total = 0i64;
    if let Some(list) = list {
        for value in wholes(taken, list)? {
            total = total.checked_add(value)?;
        }
    }
    if let Some(Slot {
        state: State::Whole,
        bits,
        ..
    }) = slot.map(|slot| taken.slot(slot))
    {
        total = total.checked_add(*bits as i64)?;
    }
    Some(total)
}

/// Σ over the entries of a list of max(0, value − that of the same key in another, absent as 0).
fn excess(taken: &Taken, line: &[u8], values: usize, allowed: usize) -> Option<i64> {
    comparable(taken, values)?;
    comparable(taken, allowed)?;
    let mut total = 0i64;
    for entry in taken.items(values, 2) {
        let allowance = taken
            .items(allowed, 2)
            .find(|other| taken.is_equal(line, &entry[0], &other[0]))
            .map_or(Some(0), |other| match other[1].state {
                State::Double => Some(f64::from_bits(other[1].bits) as i64),
                State::Null => Some(0),
                _ => None,
            })?;
        if entry[1].state != State::Double {
            return None;
        }
        let value = f64::from_bits(entry[1].bits) as i64;
        total = total.checked_add((value - allowance).max(0))?;
    }
    Some(total)
}

fn is_equal(taken: &Taken, line: &[u8], first: &Slot, second: &Slot, folded: bool) -> bool {
    if first.state == State::Text && second.state == State::Text {
        let (one, two) = (taken.text(line, first.bits), taken.text(line, second.bits));
        return if folded {
            one.eq_ignore_ascii_case(two)
        } else {
            one == two
        };
    }
    match (first.number(), second.number()) {
        (Some(one), Some(two)) => one == two,
        (None, None) => is_given(first) && first.state == second.state,
        _ => false,
    }
}
