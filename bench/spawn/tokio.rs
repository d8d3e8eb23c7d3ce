//! tokio: tasks of a current_thread runtime; each handle is awaited in turn. A JoinSet, which also cancels what is left
//! when it is dropped, costs more. With threads: a runtime of two workers, and the spawning task is one of theirs. The
//! problem is workload.hpp's.
use shared::{measure, number, processor_ns, wall_ns, word};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

thread_local!(static SUM: Cell<u64> = const { Cell::new(0) });

async fn run(n: u64, batch: u64) -> u64 {
    SUM.set(0);
    let mut all = Vec::with_capacity(batch as usize);
    let mut first = 0;
    while first < n {
        for i in first..n.min(first + batch) {
            all.push(tokio::spawn(async move { SUM.set(SUM.get() + i) }));
        }
        for one in all.drain(..) {
            one.await.unwrap();
        }
        first += batch;
    }
    SUM.get()
}

static SHARED: AtomicU64 = AtomicU64::new(0);

async fn run_threads(n: u64, batch: u64) -> u64 {
    SHARED.store(0, Ordering::Relaxed);
    let mut all = Vec::with_capacity(batch as usize);
    let mut first = 0;
    while first < n {
        for i in first..n.min(first + batch) {
            all.push(tokio::spawn(async move {
                SHARED.fetch_add(i, Ordering::Relaxed);
            }));
        }
        for one in all.drain(..) {
            one.await.unwrap();
        }
        first += batch;
    }
    SHARED.load(Ordering::Relaxed)
}

fn main() {
    if word(1) == "threads" {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
        measure("batches, threads", number(2), number(3), wall_ns, |n| {
            runtime.block_on(async move { tokio::spawn(run_threads(n, 1000)).await.unwrap() }) == n * (n - 1) / 2
        });
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let sum = |n: u64| n * (n - 1) / 2;
    measure("batches of 1,000", number(1), number(3), processor_ns, |n| runtime.block_on(run(n, 1000)) == sum(n));
    measure("all at once", number(2), number(3), processor_ns, |n| runtime.block_on(run(n, n)) == sum(n));
}
