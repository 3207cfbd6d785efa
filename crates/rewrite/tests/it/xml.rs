//! SVG, XHTML, sitemaps, feeds, manifests.

use lycosa_rewrite::Language::{Manifest, Xml};

use crate::check;

#[test]
fn xml_of_all_kinds() {
    check(
        Xml,
        &[
            (
                r#"<?xml-stylesheet type="text/css" href="s.css"?><svg/>"#,
                r#"<?xml-stylesheet type="text/css" href="R/s.css"?><svg/>"#,
            ),
            (r#"<?xml-stylesheet href='a&amp;b'?>"#, r#"<?xml-stylesheet href='R/a&amp;b'?>"#),
            (
                r#"<?xml version="1.0"?><!DOCTYPE svg [<!ENTITY a "<a href='x'>">]><svg><a href="y"/></svg>"#,
                r#"<?xml version="1.0"?><!DOCTYPE svg [<!ENTITY a "<a href='x'>">]><svg><a href="R/y"/></svg>"#,
            ),
            (r#"<svg:image xlink:href="x"/>"#, r#"<svg:image xlink:href="R/x"/>"#),
            (r#"<style>a{b:url(x)}</style>"#, r#"<style>a{b:url(R/x)}</style>"#),
            (r#"<style><![CDATA[a{b:url(x)}]]></style>"#, r#"<style><![CDATA[a{b:url(R/x)}]]></style>"#),
            (
                r#"<script><![CDATA[ <a href="x"> ]]></script><a href="y"/>"#,
                r#"<script><![CDATA[ <a href="x"> ]]></script><a href="R/y"/>"#,
            ),
            (r#"<title><a href="x"/></title>"#, r#"<title><a href="R/x"/></title>"#),
            ("<url><loc>x</loc></url>", "<url><loc>R/x</loc></url>"),
            ("<loc>\n  a&amp;b\n</loc>", "<loc>\n  R/a&amp;b\n</loc>"),
            ("<loc><![CDATA[a&b]]></loc>", "<loc><![CDATA[R/a&b]]></loc>"),
            (
                "<image:image><image:loc>x</image:loc></image:image>",
                "<image:image><image:loc>R/x</image:loc></image:image>",
            ),
            (
                "<video:thumbnail_loc>x</video:thumbnail_loc>",
                "<video:thumbnail_loc>R/x</video:thumbnail_loc>",
            ),
            (
                "<item><link>x</link><guid>http://y</guid></item>",
                "<item><link>R/x</link><guid>R/http://y</guid></item>",
            ),
            (r#"<guid isPermaLink="false">http://y</guid><guid>tag:y</guid>"#, ""),
            (r#"<link href="x" rel="alternate"/>"#, r#"<link href="R/x" rel="alternate"/>"#),
            (r#"<xhtml:link rel="alternate" href="x"/>"#, r#"<xhtml:link rel="alternate" href="R/x"/>"#),
            (
                r#"<enclosure url="x.mp3"/><media:content url="y"/>"#,
                r#"<enclosure url="R/x.mp3"/><media:content url="R/y"/>"#,
            ),
            (r#"<outline xmlUrl="f" htmlUrl="h"/>"#, r#"<outline xmlUrl="R/f" htmlUrl="R/h"/>"#),
            (
                "<description>&lt;a href=\"x\"&gt;y</description>",
                "<description>&lt;a href=\"R/x\"&gt;y</description>",
            ),
            (
                "<content:encoded><![CDATA[<img src=\"x\">]]></content:encoded>",
                "<content:encoded><![CDATA[<img src=\"R/x\">]]></content:encoded>",
            ),
            ("<description>plain</description>", ""),
            ("<link/>text", ""),
            ("<loc>", ""),
            ("<loc>x", "<loc>R/x"),
            ("<a href=\"x\"", ""),
            ("<!-- <a href='x'/> --><a href='y'/>", "<!-- <a href='x'/> --><a href='R/y'/>"),
        ],
    );
}

#[test]
fn manifests() {
    check(
        Manifest,
        &[
            (
                r#"{"icons":[{"src":"i.png","sizes":"1x1"}]}"#,
                r#"{"icons":[{"src":"R/i.png","sizes":"1x1"}]}"#,
            ),
            (r#"{"start_url" : "/?a"}"#, r#"{"start_url" : "R//?a"}"#),
            (r#"{"scope":"/","name":"/x"}"#, r#"{"scope":"R//","name":"/x"}"#),
            (r#"{"src":"a\/b\u002ec\""}"#, r#"{"src":"R/a/b.c\""}"#),
            (r#"{"src":"\ud83d\ude00"}"#, r#"{"src":"R/\ud83d\ude00"}"#),
            (r#"{"src":"\ud83d"}"#, r#"{"src":"R/\ufffd"}"#),
            (r#"{"name":"src","x":"y"}"#, ""),
            (r#"{"src":"unended"#, ""),
            (r#"{"src":"\"#, ""),
            (
                r#"{"shortcuts":[{"url":"/n"}],"share_target":{"action":"s"}}"#,
                r#"{"shortcuts":[{"url":"R//n"}],"share_target":{"action":"R/s"}}"#,
            ),
        ],
    );
}
