//! Line plots as SVG: axes, grid, lines, legend. Plain shapes and text that every browser draws.

use std::fmt::Write as _;

/// A line with its name.
#[derive(Clone, Debug)]
pub struct Series {
    pub name: String,
    pub points: Vec<(f64, f64)>,
}

/// What is drawn: both axes begin at 0.
#[derive(Clone, Debug)]
pub struct Plot<'a> {
    pub title: &'a str,
    pub x_label: &'a str,
    pub y_label: &'a str,
    pub series: &'a [Series],
    /// Values are shares and are written as percentages.
    pub percent: bool,
}

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 480.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 180.0;
const TOP: f64 = 50.0;
const BOTTOM: f64 = 60.0;
/// Told apart by people who see few colours, too: the dashes differ as well.
const COLOURS: [&str; 8] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000", "#7f7f7f"];
const DASHES: [&str; 4] = ["", "6 3", "2 3", "8 3 2 3"];
const TICKS: usize = 5;

impl Plot<'_> {
    pub fn svg(&self) -> String {
        let x_end = self.end(|point| point.0);
        let y_end = self.end(|point| point.1);
        let x = |value: f64| LEFT + value / x_end * (WIDTH - LEFT - RIGHT);
        let y = |value: f64| HEIGHT - BOTTOM - value / y_end * (HEIGHT - TOP - BOTTOM);
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
             viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"12\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
        );
        text(&mut out, (LEFT, 28.0), "font-size=\"16\" font-weight=\"bold\"", self.title);
        for step in 0..=TICKS {
            let share = step as f64 / TICKS as f64;
            let (at_x, at_y) = (x(share * x_end), y(share * y_end));
            line(&mut out, (at_x, y(0.0)), (at_x, y(y_end)), "stroke=\"#e0e0e0\"");
            line(&mut out, (x(0.0), at_y), (x(x_end), at_y), "stroke=\"#e0e0e0\"");
            text(&mut out, (at_x, y(0.0) + 18.0), "text-anchor=\"middle\"", &self.tick(share * x_end));
            text(&mut out, (x(0.0) - 8.0, at_y + 4.0), "text-anchor=\"end\"", &self.tick(share * y_end));
        }
        line(&mut out, (x(0.0), y(0.0)), (x(x_end), y(0.0)), "stroke=\"black\"");
        line(&mut out, (x(0.0), y(0.0)), (x(0.0), y(y_end)), "stroke=\"black\"");
        text(&mut out, (x(x_end / 2.0), HEIGHT - 16.0), "text-anchor=\"middle\"", self.x_label);
        let turn = format!("text-anchor=\"middle\" transform=\"rotate(-90 18 {:.1})\"", y(y_end / 2.0));
        text(&mut out, (18.0, y(y_end / 2.0)), &turn, self.y_label);
        for (at, series) in self.series.iter().enumerate() {
            let style = format!(
                "fill=\"none\" stroke=\"{}\" stroke-width=\"2\" stroke-dasharray=\"{}\"",
                COLOURS[at % COLOURS.len()],
                DASHES[at / COLOURS.len() % DASHES.len()]
            );
            let points: Vec<String> =
                series.points.iter().map(|point| format!("{:.1},{:.1}", x(point.0), y(point.1))).collect();
            // Writing to a string does not fail.
            let _ = writeln!(out, "<polyline points=\"{}\" {style}/>", points.join(" "));
            let row = TOP + 10.0 + 20.0 * at as f64;
            line(&mut out, (WIDTH - RIGHT + 14.0, row), (WIDTH - RIGHT + 40.0, row), &style);
            text(&mut out, (WIDTH - RIGHT + 46.0, row + 4.0), "", &series.name);
        }
        out.push_str("</svg>\n");
        out
    }

    /// Where an axis ends: the largest value, rounded up to one digit and a half.
    fn end(&self, value: impl Fn(&(f64, f64)) -> f64) -> f64 {
        let most = self.series.iter().flat_map(|series| &series.points).map(value).fold(0.0, f64::max);
        if most <= 0.0 || !most.is_finite() {
            return 1.0;
        }
        let unit = 10f64.powf(most.log10().floor()) / 2.0;
        (most / unit - 1e-9).ceil() * unit
    }

    fn tick(&self, value: f64) -> String {
        if self.percent {
            format!("{:.0} %", value * 100.0)
        } else {
            let text = format!("{value:.2}");
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
    }
}

fn line(out: &mut String, from: (f64, f64), to: (f64, f64), style: &str) {
    let _ = writeln!(
        out,
        "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" {style}/>",
        from.0, from.1, to.0, to.1
    );
}

fn text(out: &mut String, at: (f64, f64), style: &str, words: &str) {
    let _ = writeln!(out, "<text x=\"{:.1}\" y=\"{:.1}\" {style}>{}</text>", at.0, at.1, escaped(words));
}

fn escaped(words: &str) -> String {
    words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_where_their_values_say() {
        let series = [
            Series { name: "a <b> & c".to_owned(), points: vec![(0.0, 0.0), (1.0, 0.5)] },
            Series { name: "empty".to_owned(), points: Vec::new() },
        ];
        let plot = Plot { title: "t", x_label: "x", y_label: "y", series: &series, percent: true };
        let svg = plot.svg();
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
        assert!(svg.contains("points=\"70.0,420.0 580.0,50.0\""), "{svg}");
        assert!(svg.contains("a &lt;b&gt; &amp; c") && svg.contains(">100 %<") && svg.contains(">50 %<"));
        assert_eq!(svg.matches("<polyline").count(), 2);
    }

    #[test]
    fn odd_values_make_no_odd_axes() {
        let end = |y: f64| {
            let series = [Series { name: String::new(), points: vec![(1.0, y)] }];
            Plot { title: "", x_label: "", y_label: "", series: &series, percent: false }.end(|point| point.1)
        };
        assert_eq!([end(0.0), end(f64::NAN), end(f64::INFINITY)], [1.0, 1.0, 1.0]);
        assert_eq!([end(8.06), end(0.82), end(12.0)], [8.5, 0.85, 15.0]);
    }
}
