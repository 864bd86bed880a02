//! `unloop serve` as a process, and the folder of its files.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How long it may take to end once it is told to.
const ENDS_IN: Duration = Duration::from_secs(20);

/// A folder of one test, gone with it.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("unloop-serve-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.0.join("unloop.db")
    }

    pub(crate) fn verify(&self) {
        verify(&self.database());
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Has `unloop verify` say that all is well.
#[track_caller]
pub(crate) fn verify(database: &Path) {
    let folder = database.parent().expect("a folder");
    let mut command = Command::new(env!("CARGO_BIN_EXE_unloop"));
    let output = command.args(["verify", "--db"]).arg(database).current_dir(folder).output().expect("it runs");
    assert!(output.status.success(), "{output:?}");
}

/// A server. It goes with its owner, whatever happens.
pub(crate) struct Process {
    pub(crate) address: SocketAddr,
    child: Child,
    log: Arc<Mutex<String>>,
    logging: Option<std::thread::JoinHandle<()>>,
}

impl Process {
    /// Started, and ready.
    pub(crate) fn start(database: &Path, more: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_unloop"))
            .args(["serve", "--listen", "127.0.0.1:0", "--db"])
            .arg(database)
            .args(more)
            .current_dir(database.parent().expect("a folder"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("a server");
        let log = Arc::new(Mutex::new(String::new()));
        let (own, mut pipe) = (Arc::clone(&log), child.stderr.take().expect("its log"));
        // Read while it runs: a full pipe would stop it.
        let logging = std::thread::spawn(move || {
            let mut bytes = [0; 4_096];
            while let Ok(count @ 1..) = pipe.read(&mut bytes) {
                own.lock().expect("a log").push_str(&String::from_utf8_lossy(&bytes[..count]));
            }
        });
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("its output")).read_line(&mut line).expect("a line");
        let address = line.trim().strip_prefix("unloop is at http://").and_then(|rest| rest.strip_suffix('/'));
        let address = address.and_then(|address| address.parse().ok());
        let Some(address) = address else {
            let _ = child.kill();
            let _ = child.wait();
            let _ = logging.join();
            panic!("no address in {line:?}: {}", log.lock().expect("a log"));
        };
        Self { address, child, log, logging: Some(logging) }
    }

    /// Killed, as by the system. It has to be alive until then, and must not have failed in any way.
    pub(crate) fn kill(&mut self) {
        if let Some(status) = self.child.try_wait().expect("a status") {
            panic!("it ended by itself, {status}: {}", self.log());
        }
        self.child.kill().expect("killed");
        self.child.wait().expect("gone");
        self.assert_nothing_failed();
    }

    /// Told to end.
    pub(crate) fn tell_to_end(&self) {
        let told = Command::new("kill").arg("-TERM").arg(self.child.id().to_string()).status().expect("kill runs");
        assert!(told.success());
    }

    /// Ends in good order: the time that it takes.
    pub(crate) fn ended(&mut self) -> Duration {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("a status") {
                assert_eq!(status.code(), Some(0), "{}", self.log());
                return start.elapsed();
            }
            assert!(start.elapsed() < ENDS_IN, "it does not end: {}", self.log());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Told to end, and ended in good order: all that it logged.
    pub(crate) fn stop(mut self) -> String {
        self.tell_to_end();
        self.ended();
        self.assert_nothing_failed();
        self.log()
    }

    /// All that it has logged if it has ended. Until then what has been read of it, which may be nothing yet: not to decide anything by.
    fn log(&mut self) -> String {
        if matches!(self.child.try_wait(), Ok(Some(_)))
            && let Some(logging) = self.logging.take()
        {
            let _ = logging.join();
        }
        self.log.lock().expect("a log").clone()
    }

    fn assert_nothing_failed(&mut self) {
        let log = self.log();
        assert!(!log.contains("ERROR") && !log.contains("panicked"), "{log}");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
