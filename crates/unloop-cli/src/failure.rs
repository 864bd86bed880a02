//! What went wrong, for people: the error, its causes, and what to do about it.

use std::fmt;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Error;
use unloop_data::ReadError;

/// An error with something to do about it.
#[derive(Debug)]
pub(crate) struct Failure {
    message: String,
    hint: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

/// An error with a hint.
pub(crate) fn failure(message: impl Into<String>, hint: impl Into<String>) -> Error {
    Failure { message: message.into(), hint: hint.into() }.into()
}

/// A file that cannot be written.
pub(crate) fn cannot_write(path: &Path, error: &dyn fmt::Display) -> Error {
    failure(format!("{}: cannot be written: {error}", path.display()), "name a file in a folder that exists")
}

/// Prints an error and says with which code to exit. A reader that has heard enough is no error.
pub(crate) fn report(error: &Error) -> ExitCode {
    let is_closed_pipe = |cause: &(dyn std::error::Error + 'static)| {
        let io = cause.downcast_ref::<io::Error>().map(io::Error::kind);
        let json = cause.downcast_ref::<serde_json::Error>().and_then(serde_json::Error::io_error_kind);
        io.or(json) == Some(io::ErrorKind::BrokenPipe)
    };
    if error.chain().any(is_closed_pipe) {
        return ExitCode::SUCCESS;
    }
    eprintln!("error: {error}");
    for cause in error.chain().skip(1) {
        eprintln!("cause: {cause}");
    }
    let hints = error.chain().find_map(|cause| {
        let read = cause.downcast_ref::<ReadError>().and_then(ReadError::hint);
        read.or_else(|| cause.downcast_ref::<Failure>().map(|failure| failure.hint.clone()))
    });
    if let Some(hint) = hints {
        eprintln!("hint: {hint}");
    }
    ExitCode::from(2)
}
