//! What all pages look like: one style for light and dark, and the switch between them.

const STYLE: &str = include_str!("style/style.css");
const THEME: &str = include_str!("style/theme.js");

/// A whole document; `style` is added to what all pages share. The body is HTML, the title plain text.
pub(crate) fn document(title: &str, style: &str, body: &str) -> String {
    let title = escape(title);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <link rel=\"icon\" href=\"data:,\">\n<title>{title}</title>\n<style>\n{STYLE}{style}</style>\n</head>\n<body>\n\
         <header>\n<h1>{title}</h1>\n<button id=\"theme\" type=\"button\">Theme: system</button>\n</header>\n\
         <script>\n{THEME}</script>\n{body}</body>\n</html>\n"
    )
}

/// Text as it stands in HTML.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_cannot_become_markup() {
        let page = document("<script>\"&", "", "");
        assert!(page.contains("<title>&lt;script&gt;&quot;&amp;</title>"), "{page}");
        assert!(page.contains("<h1>&lt;script&gt;&quot;&amp;</h1>"));
    }
}
