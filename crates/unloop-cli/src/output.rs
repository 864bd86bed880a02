//! Standard output: tables that fit the terminal, JSON for machines.

use std::io::{self, IsTerminal, Write};

use anyhow::Result;
use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};
use serde::Serialize;

/// A table without lines, numbers to the right. A pipe has no width: nothing is wrapped there.
pub(crate) fn table(header: &[&str], left: &[usize]) -> Table {
    let mut table = Table::new();
    table.load_style(STYLE).set_header(header.iter().copied()).set_content_arrangement(ContentArrangement::Disabled);
    for (i, column) in table.column_iter_mut().enumerate() {
        if !left.contains(&i) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        column.set_padding((u16::from(i > 0), 1));
    }
    table
}

/// Prints a table whose second column has names. Where it is too wide for the terminal, columns are left out in a given order, then names
/// are cut.
pub(crate) fn print_fitted(out: &mut impl Write, header: &[&str], rows: &[Vec<String>], dispensable: &[&str]) -> io::Result<()> {
    let room = if io::stdout().is_terminal() { Table::new().width().map_or(usize::MAX, usize::from) } else { usize::MAX };
    let mut kept: Vec<usize> = (0..header.len()).collect();
    let mut dispensable = dispensable.iter();
    let mut longest = usize::MAX;
    loop {
        let names: Vec<&str> = kept.iter().map(|&i| header[i]).collect();
        let option = kept.iter().position(|&i| i == 1).unwrap_or(0);
        let mut table = table(&names, &[option]);
        for row in rows {
            table.add_row(kept.iter().map(|&i| if i == 1 { shortened(&row[i], longest) } else { row[i].clone() }));
        }
        // Three blanks between columns.
        let widths = table.column_max_content_widths();
        let width: usize = widths.iter().map(|&width| usize::from(width) + 3).sum::<usize>().saturating_sub(2);
        if width <= room || longest <= SHORTEST_NAME {
            return print_table(out, &table);
        }
        if let Some(next) = dispensable.next() {
            kept.retain(|&i| header[i] != *next);
        } else {
            let name = widths.get(option).map_or(0, |&width| usize::from(width));
            longest = name.saturating_sub(width - room).max(SHORTEST_NAME);
        }
    }
}

/// Names are not cut below this.
const SHORTEST_NAME: usize = 8;

fn shortened(name: &str, most: usize) -> String {
    if name.chars().count() <= most { name.into() } else { name.chars().take(most.saturating_sub(1)).chain(['…']).collect() }
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
