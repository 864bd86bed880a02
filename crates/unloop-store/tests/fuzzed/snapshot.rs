//! Any bytes as a snapshot.

use unloop_store::snapshot::{decode, encode};

/// The version that is read, and the length of the checksum behind it.
const VERSION: u8 = 1;
const CHECKSUM: usize = 16;

/// Bytes as they are, and as the content of a snapshot.
pub(crate) fn snapshot(data: &[u8]) {
    check(data);
    // Nobody hits upon a checksum: with the right one, the content behind it is reached.
    check(&sealed(data));
}

/// A snapshot with this content.
pub(crate) fn sealed(content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![VERSION];
    bytes.extend_from_slice(content);
    let sum = blake3::hash(&bytes);
    bytes.extend_from_slice(&sum.as_bytes()[..CHECKSUM]);
    bytes
}

/// What is decoded is encoded, and decoded again, to the same.
fn check(bytes: &[u8]) {
    let fold = match decode(bytes) {
        Ok(fold) => fold,
        Err(error) => {
            assert!(!error.to_string().is_empty(), "an error says something");
            return;
        }
    };
    let encoded = encode(&fold);
    let again = decode(&encoded).unwrap_or_else(|error| panic!("what was encoded is no snapshot: {error}"));
    assert_eq!(again.position(), fold.position());
    assert_eq!(again.digest(), fold.digest(), "the counts have changed");
    assert_eq!(encode(&again), encoded, "the bytes have changed");
}
