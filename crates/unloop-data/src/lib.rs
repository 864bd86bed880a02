//! Choice files: what was presented, what was chosen, read as a stream and counted.
//!
//! A file says, row by row, which options were presented and what was chosen. [`Rows`] reads the forms people have ([`Layout`] finds
//! out which one it is), [`count`] turns rows into [`unloop::Statistics`] without keeping them, [`Writer`] writes them back in the
//! canonical form, and [`draws`] writes posterior draws.
//!
//! | form | columns or fields |
//! |---|---|
//! | canonical | `presented` (names joined by `\|`, or a JSON array), `chosen` (one of them, several joined likewise, or empty), and, if there, `tied`, `count`, `user`, `time` |
//! | battles | two columns such as `model_a`, `model_b` or `left`, `right`, and `winner`: a side, a name, `tie`, or empty |
//! | rankings | `ranking`: `a>b>c`, where `=` ties neighbours; taken as successive choices from what remains |
//!
//! CSV (also separated by tabs or semicolons), JSON Lines, either of them compressed with gzip, and Parquet with the feature `parquet`.
//!
//! ```
//! use unloop::Options;
//! use unloop_data::{CountSettings, ReadSettings, Source, count};
//! let battles = "model_a,model_b,winner\nred,blue,model_a\nblue,red,tie\n";
//! let mut options = Options::new();
//! let source = Source::from_reader("battles.csv", battles.as_bytes());
//! let counted = count([Ok(source)], &mut options, &ReadSettings::default(), &CountSettings::default())?;
//! let red = options.get("red").ok_or("named")?;
//! assert_eq!(counted.statistics().chosen(red), 1.5);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod answer;
mod cell;
mod choices;
mod count;
mod csv;
pub mod draws;
mod error;
mod json_lines;
mod layout;
mod lists;
mod pairs;
#[cfg(feature = "parquet")]
mod parquet;
mod rows;
mod source;
mod write;

pub use cell::split as split_names;
pub use choices::{CountSettings, NO_CHOICE, NoChoice, Ties, check_names, for_each_choice, no_choice_option};
pub use count::{Counted, Group, MAX_GROUPS, Skipped, count};
pub use error::{Problem, ReadError};
pub use layout::Layout;
pub use lists::{read_names, read_weights};
#[doc(hidden)] // For the benchmark alone.
pub use pairs::Pairs;
pub use rows::{Answer, MAX_COUNT, ReadSettings, Row, Rows};
pub use source::Source;
pub use write::{Named, WriteFormat, Writer};
