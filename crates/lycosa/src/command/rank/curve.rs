//! `lycosa rank --curve`: crawls compared by how soon they gathered the rank of their pages.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Result;
use lycosa_engine::{CrawlReader, Layout};
use lycosa_graph::Curve;
use lycosa_graph::curve::{CurvePoint, points};
use serde::Serialize;

use super::RankArgs;
use crate::exit::Exit;
use crate::figures::count;
use crate::foreign::{Kind, clean};
use crate::link_graph::LinkGraph;
use crate::out_file::OutFile;
use crate::output::stdout;
use crate::plot::{Plot, Series};

/// Shares of the crawl at which the table says what was gathered, in percent.
const TABLE_PERCENT: [u32; 9] = [1, 2, 5, 10, 20, 30, 50, 75, 100];
const WINDOWS: u32 = 10;
const PLOT_POINTS: u32 = 200;

/// One crawl as JSON.
#[derive(Debug, Serialize)]
struct CurveLine {
    name: String,
    pages: usize,
    /// Share of the rank of all pages after a share of the crawl.
    gathered: Vec<Gathered>,
    /// Average rank of the pages of each tenth of the crawl, where the average of all is 1.
    tenths: Vec<f64>,
    #[serde(skip)]
    points: Vec<CurvePoint>,
}

#[derive(Debug, Serialize)]
struct Gathered {
    percent: u32,
    mass: f64,
}

pub fn run(dirs: &[PathBuf], args: &RankArgs) -> Result<Exit> {
    let judge = args.of.as_deref().map(|dir| judged(dir, args, None)).transpose()?;
    let mut lines = Vec::new();
    let mut ceiling = None;
    for dir in dirs {
        let name = dir.file_name().unwrap_or(dir.as_os_str()).to_string_lossy().into_owned();
        let (curve, reference) = match &judge {
            Some(judge) => (judged(dir, args, Some(judge))?.curve, &judge.curve),
            None => {
                let own = judged(dir, args, None)?.curve;
                lines.push(line(name, &own, &own));
                ceiling.get_or_insert_with(|| line("ceiling".to_owned(), &own.ideal(), &own));
                continue;
            }
        };
        lines.push(line(name, &curve, reference));
        ceiling.get_or_insert_with(|| line("ceiling".to_owned(), &reference.ideal(), reference));
    }
    // What no order can surpass: the pages sorted by rank.
    lines.extend(ceiling);
    if let Some(path) = &args.svg {
        let mut file = OutFile::create(path)?;
        file.write_all(clean(&drawing(&lines), Kind::Markup).as_bytes())?;
        file.finish()?;
    }
    let mut out = stdout();
    if args.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&lines)?)?;
    } else {
        write!(out, "{}", text(&lines))?;
    }
    out.flush()?;
    Ok(Exit::Done)
}

/// A crawl's curve with the ranks it was judged by.
struct Judged {
    curve: Curve,
    ranks: lycosa_graph::Ranks,
}

fn judged(dir: &Path, args: &RankArgs, by: Option<&Judged>) -> Result<Judged> {
    let reader = CrawlReader::open(Layout::new(dir))?;
    let log = reader.layout.edges();
    let ranks = match by {
        Some(judge) => judge.ranks.clone(),
        None => LinkGraph::open(reader)?.ranks(&args.options())?,
    };
    Ok(Judged { curve: Curve::of_log(&log, &ranks)?, ranks })
}

fn line(name: String, curve: &Curve, reference: &Curve) -> CurveLine {
    let percents: Vec<f64> = TABLE_PERCENT.iter().map(|percent| f64::from(*percent) / 100.0).collect();
    let masses = points(curve, reference, &percents);
    let evenly = |steps: u32| (1..=steps).map(|step| f64::from(step) / f64::from(steps)).collect::<Vec<_>>();
    CurveLine {
        name,
        pages: curve.pages(),
        gathered: TABLE_PERCENT
            .iter()
            .zip(masses)
            .map(|(&percent, point)| Gathered { percent, mass: point.mass })
            .collect(),
        tenths: points(curve, reference, &evenly(WINDOWS)).iter().map(|point| point.average).collect(),
        points: points(curve, reference, &evenly(PLOT_POINTS)),
    }
}

fn text(lines: &[CurveLine]) -> String {
    let width = lines.iter().map(|line| line.name.chars().count()).max().unwrap_or(0);
    let mut out = String::from("share of the rank gathered after a share of the crawl\n");
    out.push_str(&format!("  {:width$}  {:>9}", "", "pages"));
    TABLE_PERCENT.iter().for_each(|percent| out.push_str(&format!("{:>8}", format!("{percent} %"))));
    for line in lines {
        out.push_str(&format!("\n  {:width$}  {:>9}", line.name, count(line.pages as u64)));
        line.gathered.iter().for_each(|at| out.push_str(&format!("{:>8.3}", at.mass)));
    }
    out.push_str("\n\naverage rank of the pages of each tenth of the crawl; the average of all is 1\n");
    out.push_str(&format!("  {:width$}", ""));
    (1..=WINDOWS).for_each(|tenth| out.push_str(&format!("{tenth:>7}")));
    for line in lines {
        out.push_str(&format!("\n  {:width$}", line.name));
        line.tenths.iter().for_each(|average| out.push_str(&format!("{average:>7.2}")));
    }
    out.push('\n');
    out
}

fn drawing(lines: &[CurveLine]) -> String {
    let series: Vec<Series> = lines
        .iter()
        .map(|line| {
            let points = line.points.iter().map(|point| (point.crawl, point.mass));
            Series { name: line.name.clone(), points: std::iter::once((0.0, 0.0)).chain(points).collect() }
        })
        .collect();
    let plot = Plot {
        title: "PageRank gathered over the course of a crawl",
        x_label: "pages fetched",
        y_label: "share of the PageRank of all pages",
        series: &series,
        percent: true,
    };
    plot.svg()
}
