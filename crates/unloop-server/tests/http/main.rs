//! Present and choose, over real HTTP and a real database. Every test looks at what is recorded afterwards, not only at what was answered.

#[path = "../support/mod.rs"]
mod support;

mod at_once;
mod bulk;
mod catalogs;
mod erasure;
mod expiry;
mod export;
mod next;
mod once;
mod options;
mod outcomes;
mod pages;
mod refusals;
mod tokens;
mod unshown;
mod withdrawal;
