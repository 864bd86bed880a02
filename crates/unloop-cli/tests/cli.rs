//! The command line as its users meet it: exit code, standard output, standard error.

use std::process::Command;

struct Outcome {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

fn unloop(arguments: &[&str]) -> Outcome {
    let output = Command::new(env!("CARGO_BIN_EXE_unloop")).args(arguments).output().expect("the binary under test runs");
    Outcome {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).expect("UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("UTF-8"),
    }
}

#[test]
fn version_is_name_and_number() {
    for flag in ["--version", "-V"] {
        let Outcome { code, stdout, stderr } = unloop(&[flag]);
        assert_eq!(stdout, format!("unloop {}\n", env!("CARGO_PKG_VERSION")));
        assert_eq!((code, stderr.as_str()), (Some(0), ""));
    }
}

#[test]
fn help_says_what_it_is_and_gives_examples() {
    for flag in ["--help", "-h"] {
        let Outcome { code, stdout, stderr } = unloop(&[flag]);
        assert!(stdout.starts_with("Show the right few options"), "{stdout}");
        for expected in ["Usage: unloop", "--version", "Examples:", "Exit codes:"] {
            assert!(stdout.contains(expected), "{expected} is missing in:\n{stdout}");
        }
        assert_eq!((code, stderr.as_str()), (Some(0), ""));
    }
}

#[test]
fn an_unknown_flag_is_an_error() {
    let Outcome { code, stdout, stderr } = unloop(&["--nonsense"]);
    assert!(stderr.starts_with("error:"), "{stderr}");
    assert!(stderr.contains("--nonsense"), "{stderr}");
    assert_eq!((code, stdout.as_str()), (Some(2), ""));
}

#[test]
fn an_unknown_word_is_an_error() {
    let Outcome { code, stdout, stderr } = unloop(&["rank"]);
    assert!(stderr.starts_with("error:"), "{stderr}");
    assert_eq!((code, stdout.as_str()), (Some(2), ""));
}

#[test]
fn without_arguments_the_help_goes_to_standard_error() {
    let Outcome { code, stdout, stderr } = unloop(&[]);
    assert!(stderr.contains("Usage: unloop"), "{stderr}");
    assert_eq!((code, stdout.as_str()), (Some(2), ""));
}
