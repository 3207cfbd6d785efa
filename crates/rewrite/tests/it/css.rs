//! Style sheets.

use lycosa_rewrite::Language::Css;

use crate::check;

#[test]
fn urls_of_all_shapes() {
    check(
        Css,
        &[
            ("a{b:url(x)}", "a{b:url(R/x)}"),
            ("a{b:url( x )}", "a{b:url( R/x )}"),
            ("a{b:url('x')}", "a{b:url('R/x')}"),
            ("a{b:url(\"x\")}", "a{b:url(\"R/x\")}"),
            ("a{b:url( 'x' )}", "a{b:url( 'R/x' )}"),
            ("a{b:URL(x)}", "a{b:URL(R/x)}"),
            ("a{b:u\\72l(x)}", "a{b:u\\72l(R/x)}"),
            ("a{b:\\75 rl(x)}", "a{b:\\75 rl(R/x)}"),
            ("a{b:url(x\\29y)}", "a{b:url(R/x\\)y)}"),
            ("a{b:url(x\\(y)}", "a{b:url(R/x\\(y)}"),
            ("a{b:url('x\\'y')}", "a{b:url('R/x\\'y')}"),
            ("a{b:url(\"x'y\")}", "a{b:url(\"R/x'y\")}"),
            ("a{b:url('a\\\nb')}", "a{b:url('R/ab')}"),
            ("a{b:url(x\\20y)}", "a{b:url(R/x\\20 y)}"),
            ("a{b:url(x\\41 )}", "a{b:url(R/xA)}"),
            ("a{b:url('<x')}", "a{b:url('R/\\3c x')}"),
            ("a{b:url(\u{e9})}", "a{b:url(R/\\e9 )}"),
            ("a{b:url(x),url(y)}", "a{b:url(R/x),url(R/y)}"),
            ("a{b:url(data:image/png;base64,AA==)}", "a{b:url(R/data:image/png;base64,AA==)}"),
            ("a{b:src('x')}", "a{b:src('R/x')}"),
            ("a{b:url('x' type('y'))}", "a{b:url('R/x' type('y'))}"),
            ("a{b:cross-fade(url(x),url(y),50%)}", "a{b:cross-fade(url(R/x),url(R/y),50%)}"),
            ("a{b:url(x", "a{b:url(R/x"),
            ("a{b:url('x", "a{b:url('R/x"),
            ("\u{feff}a{b:url(x)}", "\u{feff}a{b:url(R/x)}"),
        ],
    );
}

#[test]
fn what_looks_like_a_url_and_is_none() {
    check(
        Css,
        &[
            ("/* url(x) */", ""),
            ("/* url(x)", ""),
            ("a{content:'url(x)'}", ""),
            ("a{content:'/*'}b{c:url(x)}", "a{content:'/*'}b{c:url(R/x)}"),
            ("a{b:url(x y)}c{d:url(z)}", "a{b:url(x y)}c{d:url(R/z)}"),
            ("a{b:url(x'y)}", ""),
            ("a{b:url(a(b)c)}", ""),
            ("a{b:url('x\n)}c{d:url(y)}", "a{b:url('x\n)}c{d:url(R/y)}"),
            ("a{b:url()}", ""),
            ("a{b:url('')}", ""),
            ("a{b:myurl(x)}", ""),
            ("a{b:1url(x)}", ""),
            ("a{b:#url(x)}", ""),
            ("a{b:-url(x)}", ""),
            ("a{b:url (x)}", ""),
            ("@namespace url(http://www.w3.org/1999/xhtml);", ""),
            (
                "@namespace svg 'http://www.w3.org/2000/svg';a{b:url(x)}",
                "@namespace svg 'http://www.w3.org/2000/svg';a{b:url(R/x)}",
            ),
            ("@charset 'utf-8';", ""),
            ("a[href='x']{}", ""),
            ("a{font-family:'x'}", ""),
            ("\\", ""),
            ("'", ""),
            ("url(", ""),
            ("@", ""),
        ],
    );
}

#[test]
fn imports_fonts_and_sets() {
    check(
        Css,
        &[
            ("@import 'x.css';", "@import 'R/x.css';"),
            ("@import \"x.css\" screen;", "@import \"R/x.css\" screen;"),
            ("@import url(x.css);", "@import url(R/x.css);"),
            (
                "@import url('x.css') layer(a) supports(b:'c');",
                "@import url('R/x.css') layer(a) supports(b:'c');",
            ),
            ("@IMPORT 'x';", "@IMPORT 'R/x';"),
            ("@\\69mport 'x';", "@\\69mport 'R/x';"),
            ("@import/**/'x'/**/;", "@import/**/'R/x'/**/;"),
            ("@import 'x' 'y';", "@import 'R/x' 'y';"),
            ("@import 'x';a{content:'y'}", "@import 'R/x';a{content:'y'}"),
            (
                "@font-face{src:url(f.woff2) format('woff2')}",
                "@font-face{src:url(R/f.woff2) format('woff2')}",
            ),
            ("a{b:image-set('x' 1x, 'y' 2x)}", "a{b:image-set('R/x' 1x, 'R/y' 2x)}"),
            (
                "a{b:-webkit-image-set(url(x) 1x, url(y) 2x)}",
                "a{b:-webkit-image-set(url(R/x) 1x, url(R/y) 2x)}",
            ),
            ("a{b:image-set('x' type('image/avif'))}", "a{b:image-set('R/x' type('image/avif'))}"),
            ("@media print{a{b:url(x)}}", "@media print{a{b:url(R/x)}}"),
        ],
    );
}
