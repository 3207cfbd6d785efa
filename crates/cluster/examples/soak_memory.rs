//! A long soak of the model crawl on the bus in memory: `soak_memory [first seed] [seeds] [faults per seed]`.

#[path = "../tests/it/model/mod.rs"]
#[allow(clippy::unwrap_used, reason = "the model belongs to the tests")]
mod model;

fn main() {
    let number =
        |i: usize, default: u64| std::env::args().nth(i).and_then(|a| a.parse().ok()).unwrap_or(default);
    let (first, seeds, faults) = (number(1, 0), number(2, 1000), number(3, 12) as u32);
    let (mut failed, mut injected, mut pages, mut repeated, mut seconds) = (0, 0u64, 0, 0u64, 0.0);
    let mut leaves = (0u64, 0u64);
    let began = std::time::Instant::now();
    for seed in first..first + seeds {
        let builder = &mut tokio::runtime::Builder::new_current_thread();
        let runtime = match builder.enable_all().start_paused(true).build() {
            Ok(runtime) => runtime,
            Err(error) => {
                eprintln!("no runtime: {error}");
                std::process::exit(1);
            }
        };
        let outcome = runtime.block_on(model::run(seed, 900, faults));
        if !outcome.wrongs.is_empty() {
            failed += 1;
            println!("seed {seed}: {:#?}", outcome.wrongs);
        }
        injected += u64::from(outcome.faults);
        let (asked, done) = outcome.leaves;
        leaves = (leaves.0 + u64::from(asked), leaves.1 + u64::from(done));
        pages += outcome.pages;
        repeated += u64::from(outcome.repeated);
        seconds += outcome.seconds;
    }
    println!(
        "{seeds} seeds, {injected} faults, {} of {} leaves done, {pages} pages, {repeated} fetched again, {failed} failed; {seconds:.0} s of \
         crawling in {:.0} s",
        leaves.1,
        leaves.0,
        began.elapsed().as_secs_f64()
    );
    std::process::exit(i32::from(failed > 0));
}
