//! A finished picture: SVG text, and PNG bytes drawn from that very text.

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};
use thiserror::Error;

use crate::font;
use crate::svg::Page;

/// Pixels that a PNG may have: 400 MB while it is drawn.
const MOST_PIXELS: f64 = 1e8;

/// A drawn picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    width: u32,
    height: u32,
    svg: String,
}

impl Picture {
    /// The scale of [`Picture::png`]: two pixels of the image for one of the picture, sharp on most screens.
    pub const SCALE: f32 = 2.0;

    /// The page at a size that is rounded up to whole pixels.
    pub(crate) fn new(page: &Page, width: f64, height: f64, title: &str) -> Self {
        let (width, height) = (width.ceil() as u32, height.ceil() as u32);
        Self { width, height, svg: page.finish(width, height, title) }
    }

    /// Width in pixels of the SVG.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Height in pixels of the SVG.
    pub fn height(&self) -> u32 {
        self.height
    }

    /// The picture as SVG, which can stand in a file or inside a page.
    pub fn svg(&self) -> &str {
        &self.svg
    }

    /// The picture as SVG, taken out.
    pub fn into_svg(self) -> String {
        self.svg
    }

    /// The picture as PNG at twice its size, the same bytes for the same picture.
    ///
    /// # Errors
    ///
    /// A picture of too many pixels, about 1 700 rows of a leaderboard.
    pub fn png(&self) -> Result<Vec<u8>, PngError> {
        self.png_at(Self::SCALE)
    }

    /// The picture as PNG at `scale` times its size.
    ///
    /// # Errors
    ///
    /// A scale that is not above zero, or one that makes an image of less than one pixel or of too many.
    pub fn png_at(&self, scale: f32) -> Result<Vec<u8>, PngError> {
        let [width, height] = [self.width, self.height].map(|length| (f64::from(length) * f64::from(scale)).round());
        // NaN falls through to the error.
        if !(width >= 1.0 && height >= 1.0 && width * height <= MOST_PIXELS) {
            return Err(PngError::Size { width: self.width, height: self.height, scale });
        }
        let options = Options { fontdb: font::database(), ..Options::default() };
        let tree = Tree::from_str(&self.svg, &options).map_err(|error| PngError::Draw { reason: error.to_string() })?;
        let mut image =
            Pixmap::new(width as u32, height as u32).ok_or(PngError::Size { width: self.width, height: self.height, scale })?;
        resvg::render(&tree, Transform::from_scale(scale, scale), &mut image.as_mut());
        image.encode_png().map_err(|error| PngError::Draw { reason: error.to_string() })
    }
}

/// Why there is no PNG.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum PngError {
    /// Less than one pixel, or more than a hundred million.
    #[error(
        "a picture of {width} × {height} pixels cannot be drawn at scale {scale}: it must have at least one pixel and at most 10⁸"
    )]
    Size {
        /// Width of the picture.
        width: u32,
        /// Height of the picture.
        height: u32,
        /// The scale asked for.
        scale: f32,
    },
    /// The renderer refused the picture: a mistake in this crate.
    #[error("the picture could not be drawn: {reason}")]
    Draw {
        /// What the renderer said.
        reason: String,
    },
}
