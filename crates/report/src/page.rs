//! Exhibits as one HTML file that needs nothing else: curves, layouts, who is live, layers, side by side.
//!
//! The page is put together from the small files in `page/`: a style, and scripts in the order of `SCRIPTS`. The
//! numbers travel as JSON (`page/embed.rs`) and are decoded by the browser.

mod embed;

use crate::exhibit::{Exhibit, QUIET_SHARE};
use crate::style;

/// In the order in which they need each other.
const SCRIPTS: [&str; 10] = [
    include_str!("page/decode.js"),
    include_str!("page/words.js"),
    include_str!("page/series.js"),
    include_str!("page/time.js"),
    include_str!("page/view.js"),
    include_str!("page/curve.js"),
    include_str!("page/layout.js"),
    include_str!("page/tables.js"),
    include_str!("page/panel.js"),
    include_str!("page/start.js"),
];

const STYLE: &str = include_str!("page/page.css");
const BODY: &str = include_str!("page/body.html");

/// The page for some exhibits, side by side in their order.
pub fn print(title: &str, exhibits: &[Exhibit]) -> String {
    let list: Vec<_> = exhibits.iter().map(embed::exhibit).collect();
    let data = serde_json::json!({ "roles": embed::roles(), "quietShare": QUIET_SHARE, "exhibits": list });
    // So that no text can end the element it stands in.
    let data = data.to_string().replace('<', "\\u003c");
    let scripts = SCRIPTS.join("\n");
    let body = format!(
        "{BODY}<script type=\"application/json\" id=\"data\">{data}</script>\n<script>\n\"use strict\";\n{scripts}</script>\n"
    );
    style::document(title, STYLE, &body)
}
