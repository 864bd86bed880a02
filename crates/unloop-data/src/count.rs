//! Files into statistics: only counts are kept, however long the files.
//!
//! One thread reads rows and interns names, another counts them, in batches that go round between the two.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;

use unloop::{OptionId, Options, Statistics, StatisticsError};

use crate::choices::{Choices, CountSettings, Kind, check_names, no_choice_option};
use crate::error::{Problem, ReadError};
use crate::pairs::Pairs;
use crate::rows::{ReadSettings, Row, Rows};
use crate::source::Source;

/// Most groups that are told apart.
pub const MAX_GROUPS: usize = 10_000;
/// Choices of a batch.
const BATCH: usize = 1 << 13;
/// Bad rows that are kept for the report.
const KEPT: usize = 5;

/// Counts of all rows, or of the rows of each group.
#[derive(Debug, Default)]
pub struct Counted {
    /// Groups in order of appearance; one, without a name, where rows are not told apart.
    pub groups: Vec<Group>,
    /// The no-choice option, where choosing nothing counts as one.
    pub none: Option<OptionId>,
    /// Rows read, without those left out.
    pub rows: u64,
    /// Rows with a tie.
    pub ties: u64,
    /// Rows without a choice.
    pub nothing: u64,
    /// Rows left out because they were bad.
    pub skipped: Skipped,
}

/// The rows with one value of a column.
#[derive(Debug)]
pub struct Group {
    /// The value.
    pub name: String,
    /// Their counts.
    pub statistics: Statistics,
}

/// Bad rows left out, as lines of the files.
#[derive(Debug, Default)]
pub struct Skipped {
    /// How many lines.
    pub count: u64,
    /// What was wrong with the first few.
    pub first: Vec<ReadError>,
}

impl Counted {
    /// The counts of the first group: of all rows where they are not told apart.
    ///
    /// # Panics
    /// Never: [`count`] makes at least one group.
    pub fn statistics(&self) -> &Statistics {
        &self.groups[0].statistics
    }
}

/// Counts the choices of files, one after the other. Names not known before become options.
///
/// # Errors
/// At the first file that cannot be read, and the first bad row unless those are skipped.
pub fn count(
    sources: impl IntoIterator<Item = Result<Source, ReadError>>,
    options: &mut Options,
    read: &ReadSettings,
    settings: &CountSettings,
) -> Result<Counted, ReadError> {
    let failed = |problem| ReadError { file: "the counts".into(), line: None, column: None, problem };
    let none = no_choice_option(settings, options).map_err(|error| failed(Problem::Name { error }))?;
    let grouped = read.group.is_some();
    let read = &ReadSettings { details: false, ..read.clone() };
    let (to_count, batches) = sync_channel::<Batch>(2);
    let (give_back, empty) = channel();
    let (counted, statistics) = thread::scope(|scope| {
        let counter = scope.spawn(move || count_batches(batches, &give_back, grouped));
        let mut reading = Reading {
            options,
            choices: Choices::new(*settings, none),
            counted: Counted { none, ..Counted::default() },
            names: HashMap::new(),
            grouped,
            batch: Batch::default(),
            to_count,
            empty,
        };
        let outcome = reading.read_all(sources, read, settings.skip_bad);
        let Reading { counted, to_count, .. } = reading;
        // Without a sender the counter ends.
        drop(to_count);
        (outcome.map(|()| counted), counter.join())
    });
    let mut counted = counted?;
    // A panic of the counting thread is ours, and goes on here.
    let mut statistics =
        statistics.unwrap_or_else(|panic| std::panic::resume_unwind(panic)).map_err(|error| failed(error.into()))?;
    if counted.groups.is_empty() {
        counted.groups.push(Group { name: String::new(), statistics: Statistics::new(0) });
    }
    statistics.resize_with(counted.groups.len(), || Statistics::new(0));
    for (group, mut statistics) in counted.groups.iter_mut().zip(statistics) {
        statistics.grow(options.len());
        group.statistics = statistics;
    }
    Ok(counted)
}

/// Choices on their way to be counted.
#[derive(Default)]
struct Batch {
    members: Vec<OptionId>,
    /// End of the members, the choice, its weight and the group.
    rows: Vec<(usize, OptionId, f64, u32)>,
    /// Options known so far.
    option_count: usize,
}

impl Batch {
    /// Members, the choice, its weight and the group.
    fn iter(&self) -> impl Iterator<Item = (&[OptionId], OptionId, f64, u32)> {
        let mut start = 0;
        self.rows.iter().map(move |&(end, option, weight, group)| {
            let members = &self.members[start..end];
            start = end;
            (members, option, weight, group)
        })
    }
}

struct Reading<'a> {
    options: &'a mut Options,
    choices: Choices,
    counted: Counted,
    /// Groups by name.
    names: HashMap<String, u32>,
    grouped: bool,
    batch: Batch,
    to_count: SyncSender<Batch>,
    empty: Receiver<Batch>,
}

impl Reading<'_> {
    fn read_all(
        &mut self,
        sources: impl IntoIterator<Item = Result<Source, ReadError>>,
        read: &ReadSettings,
        skip_bad: bool,
    ) -> Result<(), ReadError> {
        let mut row = Row::default();
        for source in sources {
            let source = source?;
            let file = source.name.clone();
            let mut rows = Rows::new(source, read)?;
            loop {
                let result = rows.read(self.options, &mut row).and_then(|more| {
                    let failed = |problem| ReadError { file: file.clone(), line: Some(row.line), column: None, problem };
                    if more { self.take(&row).map(|()| true).map_err(failed) } else { Ok(false) }
                });
                match result {
                    Ok(true) => {}
                    Ok(false) => break,
                    Err(error) if skip_bad && error.is_of_row() && !matches!(error.problem, Problem::Groups { .. }) => {
                        // All lines between two quotes are lost, not one.
                        self.counted.skipped.count += rows.lines();
                        if self.counted.skipped.first.len() < KEPT {
                            self.counted.skipped.first.push(error);
                        }
                    }
                    Err(error) => return Err(error),
                }
                if self.batch.rows.len() >= BATCH && !self.send() {
                    // The counter has stopped, and says why.
                    return Ok(());
                }
            }
        }
        self.send();
        Ok(())
    }

    fn take(&mut self, row: &Row) -> Result<(), Problem> {
        let Self { choices, counted, batch, .. } = self;
        check_names(row, counted.none)?;
        let group = if !self.grouped {
            0
        } else if let Some(&group) = self.names.get(&row.group) {
            group
        } else if self.names.len() < MAX_GROUPS {
            let group = self.names.len() as u32;
            self.names.insert(row.group.clone(), group);
            counted.groups.push(Group { name: row.group.clone(), statistics: Statistics::new(0) });
            group
        } else {
            return Err(Problem::Groups { value: row.group.clone() });
        };
        let kind = choices.of(row, &mut |presented: &[OptionId], option: OptionId, weight: f64| {
            batch.members.extend_from_slice(presented);
            batch.rows.push((batch.members.len(), option, weight, group));
        });
        counted.rows += 1;
        counted.ties += u64::from(kind == Kind::Tie);
        counted.nothing += u64::from(kind == Kind::Nothing);
        Ok(())
    }

    /// Hands the batch over; false if nobody counts any more.
    fn send(&mut self) -> bool {
        self.batch.option_count = self.options.len();
        let next = self.empty.try_recv().unwrap_or_default();
        self.to_count.send(std::mem::replace(&mut self.batch, next)).is_ok()
    }
}

/// Statistics of each group.
fn count_batches(batches: Receiver<Batch>, give_back: &Sender<Batch>, grouped: bool) -> Result<Vec<Statistics>, StatisticsError> {
    let mut groups = if grouped { Vec::new() } else { vec![Statistics::new(0)] };
    let mut pairs = Pairs::default();
    for mut batch in batches {
        if grouped {
            count_groups(&mut groups, &batch)?;
        } else {
            pairs.grow(batch.option_count);
            groups[0].grow(batch.option_count);
            let rows = batch.iter().filter(|&(members, option, weight, _)| !pairs.record(members, option, weight));
            let rows = rows.map(|(members, option, weight, _)| (members.iter().copied(), option, weight));
            groups[0].record_all(rows).map_err(|refused| refused.error)?;
        }
        batch.members.clear();
        batch.rows.clear();
        // Nobody may be left to take it.
        let _ = give_back.send(batch);
    }
    if !grouped {
        groups[0].merge(&pairs.into_statistics()?)?;
    }
    Ok(groups)
}

fn count_groups(groups: &mut Vec<Statistics>, batch: &Batch) -> Result<(), StatisticsError> {
    for (members, option, weight, group) in batch.iter() {
        let most = groups.len().max(group as usize + 1);
        groups.resize_with(most, || Statistics::new(0));
        let statistics = &mut groups[group as usize];
        statistics.grow(batch.option_count);
        statistics.record(members.iter().copied(), option, weight)?;
    }
    Ok(())
}
