//! What must hold for any bytes at all. The fuzz targets include these files too, each its own.

pub(crate) mod import;
pub(crate) mod snapshot;
