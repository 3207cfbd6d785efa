//! `lycosa crawl`: from seeds to a crawl directory, with progress.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;
use lycosa_engine::bookkeeper::Stop;
use lycosa_engine::{Crawl, Layout};

use super::{seeds, settings::SettingArgs};
use crate::exit::Exit;

#[derive(Debug, Args)]
pub struct CrawlArgs {
    /// URLs to start from; files with one URL per line; `-` for standard input
    #[arg(value_name = "SEED")]
    pub seeds: Vec<String>,
    /// The directory of this crawl; a crawl that is there already goes on
    #[arg(short, long, value_name = "DIR", default_value = "crawl")]
    pub data: PathBuf,
    #[command(flatten)]
    pub settings: SettingArgs,
    /// Print the report as JSON when done
    #[arg(long)]
    pub json: bool,
    /// Print a configuration file with every key and its default, and do nothing else
    #[arg(long)]
    pub print_config: bool,
}

pub fn run(args: CrawlArgs) -> Result<Exit> {
    if args.print_config {
        print!("{}", lycosa_engine::config::TEMPLATE);
        return Ok(Exit::Done);
    }
    let layout = Layout::new(&args.data);
    let config = args.settings.resolve(&layout)?;
    let seeds = seeds::read(&args.seeds, &config.urls)?;
    let crawl = Crawl::open(layout, config, &seeds)?;
    let end = crawl.run()?;
    if args.json {
        println!("{}", serde_json::to_string_pretty(&end.report)?);
    }
    Ok(if end.stop == Stop::Exhausted { Exit::Done } else { Exit::Stopped })
}
