//! A native front of Tallystick: from lines of JSON to columns of facts.
//!
//! The engine makes a [`program::Program`] of record schemas and of the facts that it wants. This
//! library interprets it over a block of lines. It proposes: what it is not sure of it declines, by
//! the number of the line, and the engine decides those lines in its own way. It accepts nothing that
//! a schema refuses.
//!
//! Everything is safe Rust over slices, but for [`border`], which takes pointers of the caller, and
//! the call of vector instructions in [`scan`].

pub mod block;
pub mod border;
pub mod canonical;
pub mod cursor;
pub mod fact;
pub mod number;
pub mod program;
pub mod record;
pub mod scan;
pub mod sha256;
pub mod text;
