//! Posterior draws as files: one row for each draw, one column for each option.
//!
//! | format | rows |
//! |---|---|
//! | CSV | `chain`, `draw`, then θ of each option under its name |
//! | JSON Lines | `{"chain": 0, "draw": 0, "theta": {"name": 0.3, …}}` |
//! | NPY | an array of 64-bit floats: chains × draws × options, in the order of [`Options`] |
//! | Parquet | as CSV, with the feature `parquet` |

use std::io::{self, Write};

use unloop::Options;

use crate::write::quoted;

/// How draws are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DrawFormat {
    /// CSV with a header line.
    Csv,
    /// One JSON object on each line.
    JsonLines,
    /// NumPy's array file.
    Npy,
    /// Apache Parquet.
    #[cfg(feature = "parquet")]
    Parquet,
}

/// Chains of draws on their way into a file.
pub struct DrawTable<'a, I> {
    /// Names of the options.
    pub options: &'a Options,
    /// Chains.
    pub chains: usize,
    /// Draws of each chain.
    pub draws: usize,
    /// θ of every option, chain by chain, draw by draw.
    pub theta: I,
}

/// Writes draws of θ.
///
/// # Errors
/// If it cannot be written.
pub fn write_draws<W: Write + Send, I: Iterator<Item = Vec<f64>>>(
    out: W,
    format: DrawFormat,
    table: DrawTable<'_, I>,
) -> io::Result<()> {
    match format {
        DrawFormat::Csv => csv(out, table),
        DrawFormat::JsonLines => json_lines(out, table),
        DrawFormat::Npy => npy(out, table),
        #[cfg(feature = "parquet")]
        DrawFormat::Parquet => crate::parquet::write_draws(out, table),
    }
}

impl<I: Iterator<Item = Vec<f64>>> DrawTable<'_, I> {
    /// Chain, number in it, and θ of every draw.
    pub(crate) fn rows(self) -> impl Iterator<Item = (usize, usize, Vec<f64>)> {
        let draws = self.draws.max(1);
        self.theta.enumerate().map(move |(i, theta)| (i / draws, i % draws, theta))
    }
}

fn csv<I: Iterator<Item = Vec<f64>>>(mut out: impl Write, table: DrawTable<'_, I>) -> io::Result<()> {
    out.write_all(b"chain,draw")?;
    for (_, name) in table.options.iter() {
        write!(out, ",{}", quoted(name))?;
    }
    out.write_all(b"\n")?;
    for (chain, draw, theta) in table.rows() {
        write!(out, "{chain},{draw}")?;
        for value in theta {
            write!(out, ",{value:e}")?;
        }
        out.write_all(b"\n")?;
    }
    out.flush()
}

fn json_lines<I: Iterator<Item = Vec<f64>>>(mut out: impl Write, table: DrawTable<'_, I>) -> io::Result<()> {
    let names: Vec<String> = table.options.iter().map(|(_, name)| serde_json::to_string(name)).collect::<Result<_, _>>()?;
    for (chain, draw, theta) in table.rows() {
        write!(out, "{{\"chain\":{chain},\"draw\":{draw},\"theta\":{{")?;
        for (k, (name, value)) in names.iter().zip(theta).enumerate() {
            write!(out, "{}{name}:{value:e}", if k == 0 { "" } else { "," })?;
        }
        out.write_all(b"}}\n")?;
    }
    out.flush()
}

/// Version 1.0 of NumPy's format: magic, length of the header, a Python dictionary padded to 64 bytes, values in C order.
fn npy<I: Iterator<Item = Vec<f64>>>(mut out: impl Write, table: DrawTable<'_, I>) -> io::Result<()> {
    let shape = format!("({}, {}, {})", table.chains, table.draws, table.options.len());
    let mut header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}");
    // Ten bytes come before it, and a line feed ends it.
    let padding = 64 - (10 + header.len() + 1) % 64;
    header.extend(std::iter::repeat_n(' ', padding % 64));
    header.push('\n');
    out.write_all(b"\x93NUMPY\x01\x00")?;
    out.write_all(&(header.len() as u16).to_le_bytes())?;
    out.write_all(header.as_bytes())?;
    for (_, _, theta) in table.rows() {
        for value in theta {
            out.write_all(&value.to_le_bytes())?;
        }
    }
    out.flush()
}
