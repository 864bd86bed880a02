//! Any bytes as a token. The fuzz target includes this file too.

use std::sync::LazyLock;

use unloop_server::{LONGEST, Secrets, Token};

static OWN: LazyLock<Secrets> = LazyLock::new(|| Secrets::fresh().expect("the system has random numbers"));
static OTHERS: LazyLock<Secrets> = LazyLock::new(|| Secrets::fresh().expect("the system has random numbers"));

/// Bytes as what somebody sends, and, since nobody hits upon a signature, as what is signed.
pub(crate) fn token(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        assert_eq!(Token::open(text, &OWN), None, "nobody signed it");
    }
    let Some(token) = Token::decode(data) else { return };
    let encoded = token.encode();
    let again = Token::decode(&encoded).expect("what was encoded is a token");
    // Bytes are compared: a number that is none is not even the same as itself.
    assert_eq!(again.encode(), encoded, "the bytes have changed");
    assert_eq!(format!("{again:?}"), format!("{token:?}"), "it says something else");
    let text = token.seal(&OWN);
    match Token::open(&text, &OWN) {
        Some(opened) => assert_eq!(opened.encode(), encoded, "it was signed as something else"),
        None => assert!(text.len() > LONGEST, "it was signed, and is none"),
    }
    assert_eq!(Token::open(&text, &OTHERS), None, "somebody else signed it");
    assert_eq!(Token::open(&text[1..], &OWN), None, "a part of it was signed");
}
