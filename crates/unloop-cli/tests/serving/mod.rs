//! The real binary as a server over a database of its own.
#![allow(dead_code, reason = "nobody uses all of it")]

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A process that goes with its owner.
pub(crate) struct Server {
    process: Child,
    pub(crate) address: SocketAddr,
}

impl Server {
    /// Started, and ready.
    pub(crate) fn start(database: &Path, more: &[&str]) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_unloop"))
            .args(["serve", "--listen", "127.0.0.1:0", "--db"])
            .arg(database)
            .args(more)
            .current_dir(database.parent().expect("a folder"))
            .stdout(Stdio::piped())
            .spawn()
            .expect("a server");
        let mut line = String::new();
        BufReader::new(process.stdout.take().expect("its output")).read_line(&mut line).expect("a line");
        let address = line.trim().strip_prefix("unloop is at http://").and_then(|rest| rest.strip_suffix('/'));
        Self { process, address: address.and_then(|address| address.parse().ok()).expect("an address") }
    }

    /// Resident bytes, where the system tells.
    pub(crate) fn resident(&self) -> f64 {
        let text = std::fs::read_to_string(format!("/proc/{}/statm", self.process.id())).unwrap_or_default();
        text.split_whitespace().nth(1).and_then(|pages| pages.parse::<f64>().ok()).map_or(f64::NAN, |pages| 4_096.0 * pages)
    }

    /// The most bytes that were ever resident, where the system tells.
    pub(crate) fn peak(&self) -> f64 {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        line.and_then(|rest| rest.trim().strip_suffix("kB")?.trim().parse::<f64>().ok())
            .map_or(f64::NAN, |kilobytes| 1_024.0 * kilobytes)
    }

    /// Seconds that cores spent on it, where the system tells: time that was taken away from the machine is not in it.
    pub(crate) fn cores(&self) -> f64 {
        let text = std::fs::read_to_string(format!("/proc/{}/stat", self.process.id())).unwrap_or_default();
        let times = text.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(2);
        times.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
    }

    /// Ended in good order.
    pub(crate) fn stop(mut self) {
        let _ = Command::new("kill").arg("-TERM").arg(self.process.id().to_string()).status();
        let _ = self.process.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A folder that goes with its owner.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("unloop-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
