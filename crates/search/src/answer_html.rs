//! An answer as a piece of HTML.
//!
//! Promise: whatever pages hold, nothing of theirs becomes markup, and no link leads anywhere but to http and https.

use crate::answer::{Answer, Found};
use crate::snippet::escape;

impl Answer {
    /// A list of the results, with what was marked in them.
    pub fn html(&self) -> String {
        let mut out = String::new();
        if let Some(better) = &self.did_you_mean {
            out.push_str("<p class=\"did-you-mean\">Did you mean: ");
            escape(better, &mut out);
            out.push_str("</p>\n");
        }
        out.push_str(&format!("<p class=\"total\">{} pages</p>\n<ol class=\"results\">\n", self.total));
        self.results.iter().for_each(|found| found.write_html(&mut out));
        out.push_str("</ol>\n");
        out
    }
}

impl Found {
    fn write_html(&self, out: &mut String) {
        out.push_str("<li>");
        link(&self.url, if self.title.is_empty() { &self.url } else { &self.title }, out);
        out.push_str("<p class=\"snippet\">");
        out.push_str(&self.snippet_html);
        out.push_str("</p>");
        if !self.author.is_empty() {
            out.push_str("<p class=\"author\">");
            escape(&self.author, out);
            out.push_str("</p>");
        }
        if !self.also_at.is_empty() {
            out.push_str("<p class=\"also-at\">also at ");
            for (number, url) in self.also_at.iter().enumerate() {
                out.push_str(if number > 0 { ", " } else { "" });
                link(url, url, out);
            }
            out.push_str("</p>");
        }
        out.push_str("</li>\n");
    }
}

fn link(url: &str, text: &str, out: &mut String) {
    let is_web = url.starts_with("http://") || url.starts_with("https://");
    if is_web {
        out.push_str("<a href=\"");
        escape(url, out);
        out.push_str("\">");
    }
    escape(text, out);
    out.push_str(if is_web { "</a>" } else { "" });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_quoted_and_lead_to_the_web_alone() {
        let mut out = String::new();
        link("http://x/?a=\"><script>", "<b>&", &mut out);
        assert_eq!(out, "<a href=\"http://x/?a=&quot;&gt;&lt;script&gt;\">&lt;b&gt;&amp;</a>");
        out.clear();
        link("javascript:alert(1)", "x", &mut out);
        assert_eq!(out, "x");
    }
}
