//! Standard output: tables that fit the terminal, JSON for machines.

use std::io::{self, IsTerminal, Write};

use anyhow::Result;
use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};
use serde::Serialize;

/// A table without lines, numbers to the right.
pub(crate) fn table(header: &[&str], left: &[usize]) -> Table {
    let mut table = Table::new();
    table.load_style(STYLE).set_header(header.iter().copied());
    // A pipe has no width: nothing is wrapped there.
    let arrangement = if io::stdout().is_terminal() { ContentArrangement::Dynamic } else { ContentArrangement::Disabled };
    table.set_content_arrangement(arrangement);
    for (i, column) in table.column_iter_mut().enumerate() {
        if !left.contains(&i) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        column.set_padding((u16::from(i > 0), 1));
    }
    table
}

/// One line under the header, nothing else.
const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// Prints lines of a table without the blanks at their ends.
pub(crate) fn print_table(out: &mut impl Write, table: &Table) -> io::Result<()> {
    for line in table.lines() {
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

/// Prints JSON, for people too where somebody watches.
pub(crate) fn print_json(out: &mut impl Write, value: &impl Serialize) -> Result<()> {
    if io::stdout().is_terminal() {
        serde_json::to_writer_pretty(&mut *out, value)?;
    } else {
        serde_json::to_writer(&mut *out, value)?;
    }
    writeln!(out)?;
    Ok(())
}
