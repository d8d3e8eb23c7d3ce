//! tokio: a current_thread runtime, with its timers, one spawned task. The problem is workload.hpp's.
use shared::{measure, number, processor_ns, word};

fn once() -> u64 {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async { tokio::spawn(async { 1 }).await.unwrap() })
}

fn main() {
    if word(1) == "once" {
        assert_eq!(once(), 1);
        return;
    }
    measure("in a process", number(1), number(2), processor_ns, |n| (0..n).map(|_| once()).sum::<u64>() == n);
}
