//! HTML.

use lycosa_rewrite::Language::Html;

use crate::check;

#[test]
fn every_attribute_that_refers_to_something() {
    check(
        Html,
        &[
            (r#"<a href="x">y</a>"#, r#"<a href="R/x">y</a>"#),
            (r#"<area href='x'>"#, r#"<area href='R/x'>"#),
            (r#"<a href="x" ping="p q">"#, r#"<a href="R/x" ping="R/p R/q">"#),
            (r#"<img src="x.png" alt="a">"#, r#"<img src="R/x.png" alt="a">"#),
            (r#"<img lowsrc=l.gif src=x.gif>"#, r#"<img lowsrc="R/l.gif" src="R/x.gif">"#),
            (r#"<img srcset="a 1x, b 2x">"#, r#"<img srcset="R/a 1x, R/b 2x">"#),
            (r#"<img longdesc="d.html">"#, r#"<img longdesc="R/d.html">"#),
            (
                r#"<picture><source srcset="a.webp"><img></picture>"#,
                r#"<picture><source srcset="R/a.webp"><img></picture>"#,
            ),
            (
                r#"<link rel="preload" as="image" imagesrcset="a 1x, b 2x">"#,
                r#"<link rel="preload" as="image" imagesrcset="R/a 1x, R/b 2x">"#,
            ),
            (
                r#"<video poster="p.jpg" src="v.mp4"></video>"#,
                r#"<video poster="R/p.jpg" src="R/v.mp4"></video>"#,
            ),
            (r#"<audio src="a.ogg">"#, r#"<audio src="R/a.ogg">"#),
            (r#"<track src="t.vtt">"#, r#"<track src="R/t.vtt">"#),
            (r#"<source src="v.webm">"#, r#"<source src="R/v.webm">"#),
            (r#"<object data="o.svg"></object>"#, r#"<object data="R/o.svg"></object>"#),
            (r#"<embed src="e.swf">"#, r#"<embed src="R/e.swf">"#),
            (r#"<form action="s">"#, r#"<form action="R/s">"#),
            (r#"<button formaction="s">"#, r#"<button formaction="R/s">"#),
            (
                r#"<input type=image src="i" formaction="s">"#,
                r#"<input type=image src="R/i" formaction="R/s">"#,
            ),
            (r#"<body background="b.gif">"#, r#"<body background="R/b.gif">"#),
            (r#"<td background=b.gif>"#, r#"<td background="R/b.gif">"#),
            (r#"<blockquote cite="c">"#, r#"<blockquote cite="R/c">"#),
            (
                r#"<q cite="c"><ins cite="d"><del cite="e">"#,
                r#"<q cite="R/c"><ins cite="R/d"><del cite="R/e">"#,
            ),
            (r#"<html manifest="m.appcache">"#, r#"<html manifest="R/m.appcache">"#),
            (r#"<link rel=manifest href=m.json>"#, r#"<link rel=manifest href="R/m.json">"#),
            (r#"<link rel="stylesheet" href="s.css">"#, r#"<link rel="stylesheet" href="R/s.css">"#),
            (r#"<link rel="modulepreload" href="m.js">"#, r#"<link rel="modulepreload" href="R/m.js">"#),
            (r#"<script src="s.js"></script>"#, r#"<script src="R/s.js"></script>"#),
            (r#"<iframe src="f.html"></iframe>"#, r#"<iframe src="R/f.html"></iframe>"#),
            (
                r#"<frameset><frame src="f.html"></frameset>"#,
                r#"<frameset><frame src="R/f.html"></frameset>"#,
            ),
            (r#"<svg><use xlink:href="s.svg#i"/></svg>"#, r#"<svg><use xlink:href="R/s.svg#i"/></svg>"#),
            (r#"<svg><image href="i.png"/></svg>"#, r#"<svg><image href="R/i.png"/></svg>"#),
            (
                r#"<svg><a xlink:href="p"><text>x</text></a></svg>"#,
                r#"<svg><a xlink:href="R/p"><text>x</text></a></svg>"#,
            ),
            (r#"<svg><rect fill="url(g.svg#a)"/></svg>"#, r#"<svg><rect fill="url(R/g.svg#a)"/></svg>"#),
            (r#"<svg><script href="s.js"/></svg>"#, r#"<svg><script href="R/s.js"/></svg>"#),
            (r#"<bgsound src=b.mid>"#, r#"<bgsound src="R/b.mid">"#),
            (r#"<noscript><img src="x"></noscript>"#, r#"<noscript><img src="R/x"></noscript>"#),
            (r#"<template><img src="x"></template>"#, r#"<template><img src="R/x"></template>"#),
        ],
    );
}

#[test]
fn conventions_of_scripts_that_load_late() {
    check(
        Html,
        &[
            (r#"<img data-src="x.png">"#, r#"<img data-src="R/x.png">"#),
            (r#"<img data-srcset="a 1x, b 2x">"#, r#"<img data-srcset="R/a 1x, R/b 2x">"#),
            (r#"<img data-lazy-src="x/y">"#, r#"<img data-lazy-src="R/x/y">"#),
            (r#"<img data-original="x.png">"#, r#"<img data-original="R/x.png">"#),
            (r#"<div data-bg="url(x.png)">"#, r#"<div data-bg="url(R/x.png)">"#),
            (r#"<div data-bg="x.png">"#, r#"<div data-bg="R/x.png">"#),
            (r#"<iframe data-src="/f"></iframe>"#, r#"<iframe data-src="R//f"></iframe>"#),
            (
                r#"<video data-src="v.mp4" data-poster="p.jpg">"#,
                r#"<video data-src="R/v.mp4" data-poster="R/p.jpg">"#,
            ),
            (r#"<div data-src="some text">"#, ""),
            (r#"<div data-src='{"a":"b.c"}'>"#, ""),
            (r#"<div data-src="word">"#, ""),
            (r#"<div data-background=".cls">"#, ""),
            (r#"<div data-href="x/y.html">"#, ""),
        ],
    );
}

#[test]
fn quotes_and_entities() {
    check(
        Html,
        &[
            (r#"<a href="a&amp;b">"#, r#"<a href="R/a&amp;b">"#),
            (r#"<a href="?a=1&copy=2">"#, r#"<a href="R/?a=1&amp;copy=2">"#),
            (r#"<a href="?a=1&copy;">"#, r#"<a href="R/?a=1&#xA9;">"#),
            (r#"<a href="&#x61;&#98;">"#, r#"<a href="R/ab">"#),
            (r#"<a href='it"s'>"#, r#"<a href='R/it&quot;s'>"#),
            (r#"<a href="it's">"#, r#"<a href="R/it&#39;s">"#),
            (r#"<a href=it's>"#, r#"<a href="R/it&#39;s">"#),
            ("<a href=x/>", r#"<a href="R/x/">"#),
            ("<a href = x >", r#"<a href = "R/x" >"#),
            ("<a\nhref\n=\n\"x\"\n>", "<a\nhref\n=\n\"R/x\"\n>"),
            ("<a href=>", r#"<a href="R/">"#),
            ("<a href>", r#"<a href="R/">"#),
            ("<a href class=c>", r#"<a href="R/" class=c>"#),
            (r#"<a href="">"#, r#"<a href="R/">"#),
            ("<a href=\"  x\n\">", r#"<a href="R/x">"#),
            ("<A HREF=X>", r#"<A HREF="R/X">"#),
            (r#"<a href="x" href="y">"#, r#"<a href="R/x" href="y">"#),
            (r#"<a class="href=x" href="y">"#, r#"<a class="href=x" href="R/y">"#),
            (r#"<a title=">" href="y">"#, r#"<a title=">" href="R/y">"#),
            (r#"<a title='"' href="y">"#, r#"<a title='"' href="R/y">"#),
            (r#"<a/href="y"/>"#, r#"<a/href="R/y"/>"#),
            (r#"<a"b"href=x>"#, ""),
            (r#"<a x="1"href="y">"#, r#"<a x="1"href="R/y">"#),
            (r#"<a =href="y">"#, ""),
            (r##"<a href="#top">"##, r##"<a href="R/#top">"##),
            ("<a href=\"caf\u{e9}\">", r#"<a href="R/caf&#xE9;">"#),
            (r#"<a href="a<b>c">"#, r#"<a href="R/a&lt;b&gt;c">"#),
            ("<a href=\"x\ty\">", r#"<a href="R/x%09y">"#),
        ],
    );
}

#[test]
fn what_looks_like_a_reference_and_is_none() {
    check(
        Html,
        &[
            (r#"<!-- <a href="x"> -->"#, ""),
            (r#"<!--><a href="x">"#, r#"<!--><a href="R/x">"#),
            (r#"<!---><a href="x">"#, r#"<!---><a href="R/x">"#),
            (r#"<!-- a --!><a href="x">"#, r#"<!-- a --!><a href="R/x">"#),
            (r#"<!-- <a href="x">"#, ""),
            (
                r#"<!doctype html SYSTEM "<a href=x"><a href=y>"#,
                r#"<!doctype html SYSTEM "<a href=x"><a href="R/y">"#,
            ),
            (r#"<?php <a href="x"> ?>"#, ""),
            (r#"</ <a href="x"><a href=y>"#, r#"</ <a href="x"><a href="R/y">"#),
            (r#"< a href="x">"#, ""),
            (r#"<1 href="x">"#, ""),
            (r#"</a href="x">"#, ""),
            (r#"<script>"<a href='x'>"</script>"#, ""),
            (
                r#"<script><!-- <script></script> <img src=x> --></script><img src=y>"#,
                r#"<script><!-- <script></script> <img src=x> --></script><img src="R/y">"#,
            ),
            (r#"<script><!-- </script><img src=y>"#, r#"<script><!-- </script><img src="R/y">"#),
            (
                r#"<script></scripty><img src=x></script ><img src=y>"#,
                r#"<script></scripty><img src=x></script ><img src="R/y">"#,
            ),
            (r#"<textarea><a href="x"></textarea>"#, ""),
            (r#"<title><a href="x"></title>"#, ""),
            (r#"<xmp><a href="x"></xmp><noembed><img src=x></noembed>"#, ""),
            (r#"<iframe><a href="x"></iframe>"#, ""),
            (r#"<plaintext><a href="x"></plaintext><a href=x>"#, ""),
            (r#"<a href="x"#, ""),
            (r#"<a href="x" "#, ""),
            ("<a href=x", ""),
            ("<", ""),
            ("</", ""),
            ("<!", ""),
            ("<!-", ""),
            ("<style>a{background:url(x", "<style>a{background:url(R/x"),
            ("text & text &lt;a href=x&gt;", ""),
            (r#"<![CDATA[ <a href="x"> ]]>"#, ""),
            (
                r#"<svg><![CDATA[ <a href="x"> ]]><a href="y"></a></svg>"#,
                r#"<svg><![CDATA[ <a href="x"> ]]><a href="R/y"></a></svg>"#,
            ),
            (
                r#"<svg><p><![CDATA[ <b> ]]><a href="y"></p>"#,
                r#"<svg><p><![CDATA[ <b> ]]><a href="R/y"></p>"#,
            ),
            (
                r#"<svg><title><a href="x"></a></title></svg>"#,
                r#"<svg><title><a href="R/x"></a></title></svg>"#,
            ),
            (r#"<a nohref="x" xhref="y">"#, ""),
        ],
    );
}

#[test]
fn base_policy_and_integrity() {
    check(
        Html,
        &[
            (r#"<base href="b/"><a href="x">"#, r#"<base><a href="R/x">"#),
            (r#"<base href="b/" target="_top">"#, r#"<base target="_top">"#),
            (r#"<base href="b/"><base href="c/">"#, "<base><base>"),
            (
                r#"<meta http-equiv="Content-Security-Policy" content="default-src 'self'">"#,
                r#"<meta http-equiv="Content-Security-Policy">"#,
            ),
            (r#"<meta http-equiv="content-type" content="text/html">"#, ""),
            (
                r#"<script src="s.js" integrity="sha256-x" crossorigin="anonymous"></script>"#,
                r#"<script src="R/s.js"></script>"#,
            ),
            (
                r#"<link crossorigin integrity='sha256-x' rel=stylesheet href=s.css>"#,
                r#"<link rel=stylesheet href="R/s.css">"#,
            ),
            (r#"<script src="R/s.js" integrity="sha256-x" crossorigin></script>"#, ""),
            (r#"<link rel="preconnect" href="//h">"#, r#"<link rel="preconnect">"#),
            (r#"<link rel="dns-prefetch" href="//h">"#, r#"<link rel="dns-prefetch">"#),
        ],
    );
}

#[test]
fn meta_elements() {
    check(
        Html,
        &[
            (
                r#"<meta http-equiv="refresh" content="5; url=x">"#,
                r#"<meta http-equiv="refresh" content="5; url=R/x">"#,
            ),
            (
                r#"<meta http-equiv=refresh content="0;URL='x y'">"#,
                r#"<meta http-equiv=refresh content="0;URL='R/x%20y'">"#,
            ),
            (
                r#"<meta http-equiv=refresh content='1 , url = "x"'>"#,
                r#"<meta http-equiv=refresh content='1 , url = "R/x"'>"#,
            ),
            (
                r#"<meta http-equiv=refresh content=0;url=x>"#,
                r#"<meta http-equiv=refresh content="0;url=R/x">"#,
            ),
            (
                r#"<meta http-equiv=refresh content="3;x.html">"#,
                r#"<meta http-equiv=refresh content="3;R/x.html">"#,
            ),
            (
                r#"<meta http-equiv=refresh content="3.5;url=x">"#,
                r#"<meta http-equiv=refresh content="3.5;url=R/x">"#,
            ),
            (r#"<meta http-equiv=refresh content="30">"#, ""),
            (r#"<meta http-equiv=refresh content="url=x">"#, ""),
            (r#"<meta http-equiv=refresh content="0;url=">"#, ""),
            (
                r#"<meta property="og:image" content="x.png">"#,
                r#"<meta property="og:image" content="R/x.png">"#,
            ),
            (
                r#"<meta name="twitter:image" content="x.png">"#,
                r#"<meta name="twitter:image" content="R/x.png">"#,
            ),
            (
                r#"<meta name="msapplication-TileImage" content="t.png">"#,
                r#"<meta name="msapplication-TileImage" content="R/t.png">"#,
            ),
            (r#"<meta itemprop="image" content="x.png">"#, r#"<meta itemprop="image" content="R/x.png">"#),
            (r#"<meta name="description" content="x.png">"#, ""),
        ],
    );
}

#[test]
fn sets_of_sources() {
    check(
        Html,
        &[
            (r#"<img srcset="a">"#, r#"<img srcset="R/a">"#),
            (r#"<img srcset=" a , b ">"#, r#"<img srcset=" R/a , R/b ">"#),
            (r#"<img srcset="a, b 2x">"#, r#"<img srcset="R/a, R/b 2x">"#),
            (r#"<img srcset="a,b 2x">"#, r#"<img srcset="R/a,b 2x">"#),
            (r#"<img srcset=",,a 1x,,b 2x,">"#, r#"<img srcset=",,R/a 1x,,R/b 2x,">"#),
            (r#"<img srcset="a (x, y) 1x, b">"#, r#"<img srcset="R/a (x, y) 1x, R/b">"#),
            (r#"<img srcset="a 100w 50h,b 200w">"#, r#"<img srcset="R/a 100w 50h,R/b 200w">"#),
            ("<img srcset=\"a 1x,\n\tb 2x\">", "<img srcset=\"R/a 1x,\n\tR/b 2x\">"),
            (
                r#"<img srcset="data:image/png;base64,AA== 1x, b 2x">"#,
                r#"<img srcset="R/data:image/png;base64,AA== 1x, R/b 2x">"#,
            ),
            (r#"<img srcset="a?x&amp;y 1x, b 2x">"#, r#"<img srcset="R/a?x&amp;y 1x, R/b 2x">"#),
            (r#"<img srcset=a>"#, r#"<img srcset="R/a">"#),
            (r#"<img srcset="">"#, ""),
            (r#"<img srcset=",">"#, ""),
        ],
    );
}

#[test]
fn styles_and_documents_inside() {
    check(
        Html,
        &[
            (r#"<p style="background:url(x.png)">"#, r#"<p style="background:url(R/x.png)">"#),
            (
                r#"<p style="background:url('x.png');color:red">"#,
                r#"<p style="background:url('R/x.png');color:red">"#,
            ),
            (
                r#"<p style="background:url(&quot;x.png&quot;)">"#,
                r#"<p style="background:url(&quot;R/x.png&quot;)">"#,
            ),
            (r#"<p style='background:url("x.png")'>"#, r#"<p style='background:url("R/x.png")'>"#),
            (r#"<p style=background:url(x.png)>"#, r#"<p style="background:url(R/x.png)">"#),
            (
                r#"<p style="content:&quot;&lt;&quot;;mask:url(a&amp;b)">"#,
                r#"<p style="content:&quot;&lt;&quot;;mask:url(R/a&amp;b)">"#,
            ),
            ("<style>a{b:url(x)}</style><a href=y>", "<style>a{b:url(R/x)}</style><a href=\"R/y\">"),
            ("<style><!-- @import 'x'; --></style>", "<style><!-- @import 'R/x'; --></style>"),
            ("<style>/* </style> */ a{b:url(x)}", ""),
            (
                "<svg><style>a{b:url(&quot;x&quot;)}</style></svg>",
                "<svg><style>a{b:url(&quot;R/x&quot;)}</style></svg>",
            ),
            (
                "<svg><style><![CDATA[a{b:url(x)}]]></style></svg>",
                "<svg><style><![CDATA[a{b:url(R/x)}]]></style></svg>",
            ),
            (r#"<iframe srcdoc="<a href='x'>"></iframe>"#, r#"<iframe srcdoc="<a href='R/x'>"></iframe>"#),
            (
                r#"<iframe srcdoc="&lt;img src=&quot;x&amp;amp;y&quot;&gt;"></iframe>"#,
                r#"<iframe srcdoc="&lt;img src=&quot;R/x&amp;amp;y&quot;&gt;"></iframe>"#,
            ),
            (
                r#"<iframe srcdoc='<p style="a:url(x)">'></iframe>"#,
                r#"<iframe srcdoc='<p style="a:url(R/x)">'></iframe>"#,
            ),
            (
                r#"<iframe srcdoc="<iframe srcdoc='<a href=x>'></iframe>"></iframe>"#,
                r#"<iframe srcdoc="<iframe srcdoc='<a href=&amp;quot;R/x&amp;quot;>'></iframe>"></iframe>"#,
            ),
            (
                r#"<iframe srcdoc="<base href='b'><a href='x'>"></iframe><a href=y>"#,
                r#"<iframe srcdoc="<base><a href='R/x'>"></iframe><a href="R/y">"#,
            ),
        ],
    );
}
