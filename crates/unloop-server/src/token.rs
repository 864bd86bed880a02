//! Tokens: what proves a presentation. Whoever has one may answer that presentation, and nothing else.
//!
//! A token is signed, not encrypted: version, content (postcard), keyed BLAKE3 of both, in base64 for addresses. It holds all that an event
//! needs, so that nothing has to be kept until the answer comes.

use data_encoding::BASE64URL_NOPAD;
use serde::{Deserialize, Serialize};
use unloop_store::CatalogId;
use uuid::Uuid;

use crate::secret::Secrets;

const VERSION: u8 = 1;
const SIGNATURE: usize = 32;
const PURPOSE: &str = "unloop 2026-11-16 presentation token v1";
/// A token of 100 options with the longest names and context, and then some.
pub const LONGEST: usize = 32_768;

/// What a token says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Token {
    /// The presentation.
    pub(crate) id: [u8; 16],
    /// The catalog's internal number: one that is made again under the same name is another.
    pub(crate) catalog: CatalogId,
    /// For whom; none for nobody in particular.
    pub(crate) context: Option<String>,
    /// What was presented, in order.
    pub(crate) options: Vec<String>,
    /// The chance that each had to be there.
    pub(crate) propensities: Vec<f32>,
    /// Whether choosing nothing was an option.
    pub(crate) declinable: bool,
    /// How it was formed.
    pub(crate) policy: String,
    /// When, and until when it may be answered: milliseconds since 1970.
    pub(crate) made: i64,
    pub(crate) expires: i64,
}

impl Token {
    /// The presentation's id as people see it.
    pub(crate) fn id(&self) -> String {
        Uuid::from_bytes(self.id).hyphenated().to_string()
    }

    /// As text, signed.
    pub fn seal(&self, secrets: &Secrets) -> String {
        let mut bytes = self.encode();
        let signature = secrets.sign(PURPOSE, &bytes);
        bytes.extend_from_slice(&signature);
        BASE64URL_NOPAD.encode(&bytes)
    }

    /// Out of text; none for anything that these secrets have not signed.
    pub fn open(text: &str, secrets: &Secrets) -> Option<Self> {
        if text.len() > LONGEST {
            return None;
        }
        let bytes = BASE64URL_NOPAD.decode(text.as_bytes()).ok()?;
        let (content, signature) = bytes.split_last_chunk::<SIGNATURE>()?;
        if !secrets.verify(PURPOSE, content, *signature) {
            return None;
        }
        Self::decode(content)
    }

    /// Out of what is signed, version and content. None of it is checked here but its form: [`open`](Self::open) asks for the signature first.
    #[doc(hidden)]
    pub fn decode(content: &[u8]) -> Option<Self> {
        let (&VERSION, content) = content.split_first()? else { return None };
        postcard::from_bytes(content).ok()
    }

    /// What is signed: version and content.
    #[doc(hidden)]
    pub fn encode(&self) -> Vec<u8> {
        // Into memory: nothing can fail.
        postcard::to_extend(self, vec![VERSION]).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token() -> Token {
        Token {
            id: [7; 16],
            catalog: CatalogId(3),
            context: Some("ada".into()),
            options: vec!["soup".into(), "curry".into()],
            propensities: vec![0.5, 1.0],
            declinable: true,
            policy: "thompson".into(),
            made: 5,
            expires: 86_400_005,
        }
    }

    #[test]
    fn a_token_is_opened_by_whoever_knows_the_secret() {
        let (secrets, others) = (Secrets::fresh().unwrap(), Secrets::fresh().unwrap());
        let text = token().seal(&secrets);
        assert_eq!(Token::open(&text, &secrets), Some(token()));
        assert_eq!(Token::open(&text, &others), None);
    }

    /// Every bit of it is signed, and no other way to write it is taken.
    #[test]
    fn a_changed_token_is_none() {
        let secrets = Secrets::fresh().unwrap();
        let text = token().seal(&secrets);
        for place in 0..text.len() {
            let mut changed = text.clone().into_bytes();
            changed[place] = if changed[place] == b'A' { b'B' } else { b'A' };
            assert_eq!(Token::open(std::str::from_utf8(&changed).unwrap(), &secrets), None, "character {place}");
        }
        for changed in
            [&text[1..], &text[..text.len() - 1], &format!("{text}="), &format!("{text}A"), "", "ä", &"A".repeat(LONGEST + 1)]
        {
            assert_eq!(Token::open(changed, &secrets), None);
        }
    }
}
