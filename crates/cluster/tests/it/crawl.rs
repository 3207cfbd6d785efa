//! The model crawl: nothing lost, nothing done twice, whatever happens. `examples/soak_memory.rs` runs it for longer.

use crate::model::run;

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap()
}

#[test]
fn without_faults_every_page_is_fetched_once() {
    for seed in 0..5 {
        let outcome = runtime().block_on(run(seed, 600, 0));
        assert!(outcome.wrongs.is_empty(), "seed {seed}: {outcome:#?}");
        assert_eq!(outcome.repeated, 0, "seed {seed}");
    }
}

#[test]
fn with_faults_nothing_is_lost() {
    let (mut asked, mut let_go) = (0, 0);
    for seed in 0..50 {
        let outcome = runtime().block_on(run(seed, 900, 12));
        assert!(outcome.wrongs.is_empty(), "seed {seed}: {outcome:#?}");
        assert!(outcome.pages > 500 && outcome.faults == 12 && outcome.seconds > 1.0, "{outcome:?}");
        asked += outcome.leaves.0;
        let_go += outcome.leaves.1;
    }
    // Some are cut off when they are asked; the others leave in good order.
    assert!(asked > 20 && let_go * 2 > asked, "{let_go} of {asked} nodes were let go");
}
