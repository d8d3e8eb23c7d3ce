//! tokio: tasks of a current_thread runtime; each handle is awaited in turn. A JoinSet, which also cancels what is left
//! when it is dropped, costs more. The problem is workload.hpp's.
use shared::{measure, number, processor_ns};
use std::cell::Cell;

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

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let sum = |n: u64| n * (n - 1) / 2;
    measure("batches of 1,000", number(1), number(3), processor_ns, |n| runtime.block_on(run(n, 1000)) == sum(n));
    measure("all at once", number(2), number(3), processor_ns, |n| runtime.block_on(run(n, n)) == sum(n));
}
