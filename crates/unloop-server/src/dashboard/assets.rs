//! Scripts and styles, part of the binary. Their addresses change with what is in them, so that browsers may keep them.

use std::sync::OnceLock;

use axum::extract::Path;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

struct Asset {
    name: &'static str,
    media: &'static str,
    content: &'static str,
}

const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";

const ASSETS: [Asset; 5] = [
    Asset { name: "app.css", media: STYLE, content: include_str!("../../assets/app.css") },
    Asset { name: "app.js", media: SCRIPT, content: include_str!("../../assets/app.js") },
    Asset { name: "htmx.js", media: SCRIPT, content: include_str!("../../assets/vendor/htmx.js") },
    Asset { name: "uplot.js", media: SCRIPT, content: include_str!("../../assets/vendor/uplot.js") },
    Asset { name: "uplot.css", media: STYLE, content: include_str!("../../assets/vendor/uplot.css") },
];

const ICON: &str = include_str!("../../assets/icon.svg");

/// What stands behind the addresses of all assets.
pub(super) fn version() -> &'static str {
    static VERSION: OnceLock<String> = OnceLock::new();
    VERSION.get_or_init(|| {
        let mut hasher = blake3::Hasher::new();
        for asset in &ASSETS {
            hasher.update(asset.content.as_bytes());
        }
        hasher.finalize().to_hex()[..12].to_owned()
    })
}

/// One of them. Nothing in them is anybody's: no key is asked for.
pub(super) async fn send(Path(name): Path<String>) -> Response {
    let kept = [(header::CACHE_CONTROL, "public, max-age=31536000, immutable")];
    if name == "icon.svg" {
        return (kept, [(header::CONTENT_TYPE, "image/svg+xml")], ICON).into_response();
    }
    match ASSETS.iter().find(|asset| asset.name == name) {
        Some(asset) => (kept, [(header::CONTENT_TYPE, asset.media)], asset.content).into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}
