//! Present and choose over HTTP.
//!
//! [`Service`] holds what requests share, over any [`Store`](unloop_store::Store); [`app`] is all calls over it, [`serve`] answers
//! connections. Handlers translate and delegate; what takes long is done beside the threads that answer. Nothing here parses flags or
//! exits: `unloop serve` does.
//!
//! The way of a presentation: `api` checks the request, the context's presenter (`context`) forms the set, `token` signs it. The
//! way of a choice: the token is opened, the event appended and flushed, the log taken in by whoever holds the context, then it is answered.
#![forbid(unsafe_code)]

mod access;
mod again;
mod api;
mod app;
mod beside;
mod body;
mod catalog;
mod context;
mod dashboard;
mod grounds;
mod lock;
mod metrics;
mod problem;
mod rankings;
mod secret;
mod serve;
mod service;
mod standing;
mod tails;
mod token;
mod trends;

pub use access::{PREFIX, Scope, make_key};
pub use app::{app, document};
pub use body::{LARGEST, LARGEST_BULK};
pub use catalog::{CatalogSettings, Known, LONGEST_EXPIRY, MOST_SIZE, OrderName, PolicyName};
pub use problem::{Kind, Problem};
pub use secret::{SecretError, Secrets};
pub use serve::serve;
pub use service::{Background, ServerSettings, Service};
pub use token::{LONGEST, Token};

/// Milliseconds since 1970: for expiry and for people, never for order.
fn now() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}
