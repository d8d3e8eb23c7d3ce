//! tokio: tasks of a current_thread runtime in a JoinSet; abort_all, then join_next until none is left.
//!
//! The same problem as workload.hpp: see there. Arguments: tasks, rounds, channel or timer.
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// The thread's own processor time, as the C++ programs measure it.
fn cpu_ns() -> u64 {
    let mut t = [0i64; 2];
    extern "C" {
        fn clock_gettime(clock: i32, t: *mut i64) -> i32;
    }
    const CLOCK_THREAD_CPUTIME_ID: i32 = 3;
    unsafe { clock_gettime(CLOCK_THREAD_CPUTIME_ID, t.as_mut_ptr()) };
    t[0] as u64 * 1_000_000_000 + t[1] as u64
}

fn resident_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

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
    let begin = cpu_ns();
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
    let parked = cpu_ns();
    let bytes = resident_bytes().saturating_sub(before);
    let asked = cpu_ns();
    all.abort_all();
    let mut ended = 0;
    while let Some(how) = all.join_next().await {
        assert!(how.unwrap_err().is_cancelled());
        ended += 1;
    }
    assert_eq!(ended, n, "all have ended");
    drop(all);
    (parked - begin, cpu_ns() - asked, bytes)
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let n: u64 = arguments[1].parse().unwrap();
    let rounds: u64 = arguments[2].parse().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    for i in 0..rounds {
        let (park, cancel, bytes) = runtime.block_on(round(arguments[3] == "timer", n));
        let each = |x: u64| x as f64 / n as f64;
        println!(
            "{{\"library\": \"tokio\", \"workload\": \"{}\", \"n\": {n}, \"round\": {i}, \"park_ns\": {:.1}, \
             \"cancel_ns\": {:.1}, \"bytes\": {:.1}}}",
            arguments[3], each(park), each(cancel), each(bytes)
        );
    }
}
