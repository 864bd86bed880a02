//! A copy of a database while it is in use, and a look at whether the file is sound.

use std::fs::File;
use std::path::Path;

use rusqlite::params;

use super::{Sqlite, beside, private, reading, schema};
use crate::Answer;
use crate::error::StoreError;

impl Sqlite {
    /// Writes everything, as it is at one moment, into a file; whoever appends goes on meanwhile. It is there wholly or not at all. The secret
    /// that signs is in a file of its own, and not in it. The copy's last position.
    ///
    /// # Errors
    /// If there is a file already, or it cannot be written.
    pub fn backup(&self, to: &Path) -> Answer<'_, u64> {
        let (from, to) = (self.path.clone(), to.to_owned());
        let settings = self.settings;
        self.look(move |_| {
            let name = to.display().to_string();
            let problem = |error: &dyn ToString| StoreError::Database { file: name.clone(), problem: error.to_string() };
            if std::fs::symlink_metadata(&to).is_ok() {
                return Err(problem(&"there is a file already"));
            }
            // Two at once must not write into one file.
            let part = beside(&to, &format!(".{}.part", std::process::id()));
            let copied = (|| {
                // Left behind by one that was cut off.
                let file = private(true).truncate(true).open(&part).map_err(|error| problem(&error))?;
                // Its own connection: it reads the whole database in one transaction, and others go on reading.
                let source = super::connect(&from, &from.display().to_string(), settings)?;
                let target = part.to_str().ok_or_else(|| problem(&"its path is no UTF-8"))?;
                source.execute("VACUUM INTO ?1", params![target]).map_err(|error| problem(&error))?;
                file.sync_all().map_err(|error| problem(&error))?;
                let copy = rusqlite::Connection::open(&part).map_err(|error| problem(&error))?;
                let seq = reading::head(&copy)?.seq;
                copy.close().map_err(|(_, error)| problem(&error))?;
                std::fs::rename(&part, &to).map_err(|error| problem(&error))?;
                // The name, too.
                let folder = to.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
                File::open(folder).and_then(|folder| folder.sync_all()).map_err(|error| problem(&error))?;
                Ok(seq)
            })();
            if copied.is_err() {
                for ending in ["", "-journal"] {
                    let _ = std::fs::remove_file(beside(&part, ending));
                }
            }
            copied
        })
    }

    /// What SQLite finds wrong with the file; nothing if it is sound.
    pub fn soundness(&self) -> Answer<'_, Vec<String>> {
        self.look(|connection| {
            let failed = |error: rusqlite::Error| reading::problem(connection, &error);
            let mut query = connection.prepare("PRAGMA integrity_check(10)").map_err(failed)?;
            let rows = query.query_map([], |row| row.get::<_, String>(0)).map_err(failed)?;
            let found = rows.collect::<Result<Vec<String>, _>>().map_err(failed)?;
            let missing = schema::missing(connection)?.into_iter().map(|part| format!("{part} is missing"));
            Ok(found.into_iter().filter(|line| line != "ok").chain(missing).collect())
        })
    }
}
