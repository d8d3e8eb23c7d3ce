//! tokio: tasks of a current_thread runtime in a JoinSet; abort_all, then join_next until none is left.
//!
//! The problem is workload.hpp's, and so are the arguments.
use shared::{number, processor_ns, resident_bytes, word};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

async fn waits_for_slot(to: mpsc::Sender<u64>, number: u64) {
    to.send(number).await.expect("the receiver lives");
}

async fn waits_for_time(number: u64) {
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(number, 0, "nobody gets here");
}

/// Times parking and cancelling, and the memory in between.
async fn round(is_timer: bool, n: u64) -> (u64, u64, u64) {
    let before = resident_bytes();
    let begin = processor_ns();
    let (to, _from) = mpsc::channel(1);
    to.send(0).await.unwrap();
    let mut all = JoinSet::new();
    for i in 1..=n {
        if is_timer {
            all.spawn(waits_for_time(i));
        } else {
            all.spawn(waits_for_slot(to.clone(), i));
        }
    }
    // Whoever was spawned before this one has been polled when it has.
    tokio::spawn(async {}).await.unwrap();
    assert!(all.try_join_next().is_none(), "all of them wait");
    let parked = processor_ns();
    let bytes = resident_bytes().saturating_sub(before);
    let asked = processor_ns();
    all.abort_all();
    let mut ended = 0;
    while let Some(how) = all.join_next().await {
        assert!(how.unwrap_err().is_cancelled());
        ended += 1;
    }
    assert_eq!(ended, n, "all have ended");
    drop(all);
    (parked - begin, processor_ns() - asked, bytes)
}

fn main() {
    let (n, rounds, workload) = (number(1), number(2), word(3));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    for _ in 0..rounds {
        let (park, cancel, bytes) = runtime.block_on(round(workload == "timer", n));
        let each = |x: u64| x as f64 / n as f64;
        println!(
            "{{\"workload\": \"{workload}\", \"n\": {n}, \"ns\": {:.1}, \"park_ns\": {:.1}, \"bytes\": {:.1}}}",
            each(cancel),
            each(park),
            each(bytes)
        );
    }
}
