//! Sitemaps and feeds, whole and broken.

use lycosa_page::sitemap::{ChangeFreq, ListKind, MAX_ENTRIES, MAX_LOC_BYTES, parse};

fn locs(text: &str) -> Vec<String> {
    parse(text).into_iter().flat_map(|listing| listing.entries).map(|e| e.loc).collect()
}

#[test]
fn url_sets() {
    let text = "<?xml version='1.0'?><urlset xmlns='x'><url><loc> http://a/?x=1&amp;y=2 </loc>\
        <lastmod>2024-01-02</lastmod><changefreq>Weekly</changefreq><priority>0.8</priority>\
        <image:image><image:loc>http://a/i.png</image:loc></image:image></url>\
        <url><loc><![CDATA[http://a/b]]></loc><priority>7</priority></url><url/></urlset>";
    let listing = parse(text).unwrap();
    assert_eq!(listing.kind, ListKind::UrlSet);
    assert_eq!(listing.entries.len(), 2);
    let first = &listing.entries[0];
    assert_eq!((first.loc.as_str(), first.lastmod.as_deref()), ("http://a/?x=1&y=2", Some("2024-01-02")));
    assert_eq!((first.changefreq, first.priority), (Some(ChangeFreq::Weekly), Some(0.8)));
    assert_eq!((listing.entries[1].loc.as_str(), listing.entries[1].priority), ("http://a/b", None));
}

#[test]
fn indexes_texts_and_prefixes() {
    let index =
        parse("<sm:sitemapindex><sm:sitemap><sm:loc>http://a/1.xml</sm:loc></sm:sitemap></sm:sitemapindex>");
    assert_eq!((index.as_ref().unwrap().kind, index.unwrap().entries.len()), (ListKind::Index, 1));
    assert_eq!(locs("\u{feff}http://a/1\r\n\nnoise\n https://a/2 \n"), ["http://a/1", "https://a/2"]);
    assert_eq!(parse("just words"), None);
    assert_eq!(parse("<html><body>"), None);
    assert_eq!(parse(""), None);
}

#[test]
fn feeds() {
    let rss = "<rss><channel><link>http://a/</link><item><title>t</title><link>http://a/1</link>\
        <pubDate>Mon, 01 Jan 2024 00:00:00 GMT</pubDate></item>\
        <item><guid isPermaLink='true'>http://a/2</guid></item></channel></rss>";
    assert_eq!(locs(rss), ["http://a/1", "http://a/2"]);
    let rdf = "<rdf:RDF><channel/><item rdf:about='x'><link>http://a/3</link><dc:date>2024</dc:date></item></rdf:RDF>";
    assert_eq!(parse(rdf).unwrap().entries[0].lastmod.as_deref(), Some("2024"));
    let atom = "<feed><link href='http://a/'/><entry><link rel='edit' href='http://a/e'/>\
        <link href='http://a/4?a&amp;b'/><published>2023</published><updated>2024</updated>\
        <content><link href='http://no'/></content></entry></feed>";
    let listing = parse(atom).unwrap();
    assert_eq!((listing.kind, listing.entries[0].loc.as_str()), (ListKind::Atom, "http://a/4?a&b"));
    assert_eq!(listing.entries[0].lastmod.as_deref(), Some("2024"));
}

#[test]
fn broken_files_still_tell_something() {
    assert_eq!(
        locs("<urlset><url><loc>http://a/1</loc></url><url><loc>http://a/2</loc>"),
        ["http://a/1", "http://a/2"]
    );
    assert_eq!(
        locs("<urlset><url><loc>http://a/1</url><url><loc>http://a/2</loc></url>"),
        ["http://a/1", "http://a/2"]
    );
    assert!(locs("<urlset><url><loc>").is_empty());
}

#[test]
fn limits_hold() {
    let one = "<url><loc>http://a/</loc></url>";
    let listing = parse(&format!("<urlset>{}", one.repeat(MAX_ENTRIES + 5))).unwrap();
    assert_eq!((listing.beyond, listing.entries.len()), (5, MAX_ENTRIES));
    let long = format!("<urlset><url><loc>http://a/{}</loc></url>", "x".repeat(MAX_LOC_BYTES));
    assert!(locs(&long).is_empty());
    assert_eq!(parse(&long).unwrap().too_long, 1);
    let deep = format!("<urlset>{}{one}", "<x>".repeat(100_000));
    assert!(locs(&deep).is_empty());
}
