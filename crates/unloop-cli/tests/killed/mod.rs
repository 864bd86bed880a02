//! The real program as a server that is killed, stopped, robbed of its secrets and of its space; and clients that keep ledgers.

pub(crate) mod caller;
pub(crate) mod client;
pub(crate) mod full;
pub(crate) mod ledger;
pub(crate) mod process;
pub(crate) mod secret;
pub(crate) mod stop;
