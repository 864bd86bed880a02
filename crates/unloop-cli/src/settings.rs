//! What is set for the commands that keep a database: flags over `UNLOOP_…` over `unloop.toml`.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde::Deserialize;

use crate::failure::failure;

/// Where settings are looked for, in the folder where a command runs.
const FILE: &str = "unloop.toml";

/// What `unloop.toml` may say. Names are those of the flags.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct File {
    pub(crate) db: Option<PathBuf>,
    pub(crate) listen: Option<SocketAddr>,
    #[serde(default)]
    pub(crate) allow_host: Vec<String>,
    #[serde(default)]
    pub(crate) allow_origin: Vec<String>,
    pub(crate) cache: Option<String>,
    pub(crate) request_limit: Option<f64>,
    pub(crate) connections: Option<usize>,
    pub(crate) seed: Option<u64>,
    pub(crate) log_level: Option<String>,
    pub(crate) log_format: Option<String>,
}

impl File {
    /// As it is in the folder; nothing if there is none.
    pub(crate) fn read() -> Result<Self> {
        let text = match std::fs::read_to_string(Path::new(FILE)) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(failure(format!("{FILE}: {error}"), "make it readable, or take it away")),
        };
        Self::parse(&text)
    }

    fn parse(text: &str) -> Result<Self> {
        let hint = "names are those of the flags of `unloop serve`, such as listen = \"127.0.0.1:7878\"";
        toml::from_str(text).map_err(|error| failure(format!("{FILE}: {}", error.to_string().trim_end()), hint))
    }
}

/// Bytes as people write them: 1 GiB, 500 MB, 4096.
pub(crate) fn bytes(text: &str) -> Result<usize, String> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let factor = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "kb" | "k" => 1e3,
        "mb" | "m" => 1e6,
        "gb" | "g" => 1e9,
        "kib" => 1024.0,
        "mib" => 1_048_576.0,
        "gib" => 1_073_741_824.0,
        _ => return Err(format!("{text:?} is no size: 1GiB, 500MB or 4096")),
    };
    let value = number.parse::<f64>().map_err(|_| format!("{text:?} is no size: 1GiB, 500MB or 4096"))? * factor;
    let good = (1_048_576.0..=1e15).contains(&value);
    if good { Ok(value as usize) } else { Err(format!("{text:?}: at least 1 MiB is needed")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_people_write_them() {
        assert_eq!(bytes("1GiB"), Ok(1 << 30));
        assert_eq!(bytes("500 MB"), Ok(500_000_000));
        assert_eq!(bytes("2097152"), Ok(2 << 20));
        for text in ["", "1TB!", "-1GB", "1", "NaN", "1e9"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_file_with_a_name_that_is_none_is_refused() {
        assert_eq!(File::parse("db = \"a.db\"\nallow-host = [\"shop.example\"]").unwrap().allow_host, ["shop.example"]);
        let error = File::parse("lisen = \"127.0.0.1:1\"").unwrap_err().to_string();
        assert!(error.contains("lisen"), "{error}");
    }
}
