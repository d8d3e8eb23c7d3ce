//! tokio's bounded mpsc between tasks, a list at a time: `reserve_many(n).await`, then a send for each permit;
//! `recv_many`. tokio gives all n permits or none, so that n is what a full list needs. One thread: the current_thread
//! runtime; else the stealing one with two.
//!
//! The problem is workload.hpp's, and so are the arguments.
use shared::{measure, number, processor_ns, wall_ns, word};
use tokio::sync::mpsc;

const BATCH: usize = 32;
type Ends = (mpsc::Sender<u64>, mpsc::Receiver<u64>);

async fn stream((to, mut from): Ends, producers: u64, n: u64) -> (Ends, u64) {
    for p in 0..producers {
        let to = to.clone();
        tokio::spawn(async move {
            let mut values = Vec::with_capacity(BATCH);
            let mut value = p;
            while value < n {
                values.clear();
                while value < n && values.len() < BATCH {
                    values.push(value);
                    value += producers;
                }
                let permits = to.reserve_many(values.len()).await.expect("the receiver lives");
                for (permit, value) in permits.zip(&values) {
                    permit.send(*value);
                }
            }
        });
    }
    let consumer = tokio::spawn(async move {
        let mut values = Vec::with_capacity(BATCH);
        let (mut sum, mut left) = (0u64, n as usize);
        while left != 0 {
            values.clear();
            left -= from.recv_many(&mut values, BATCH).await;
            sum += values.iter().sum::<u64>();
        }
        (from, sum)
    });
    let (from, sum) = consumer.await.unwrap();
    ((to, from), sum)
}

fn main() {
    let (mode, n, rounds) = (word(1), number(2), number(3));
    let only = std::env::args().nth(4);
    let has_threads = mode == "threads";
    let runtime = if has_threads {
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap()
    } else {
        tokio::runtime::Builder::new_current_thread().build().unwrap()
    };
    for producers in [1, 4] {
        for capacity in [64, 1024] {
            let how = if has_threads { " threads" } else { "" };
            let name = format!("{producers}x{capacity}{how}");
            if only.as_ref().is_some_and(|wanted| *wanted != name) {
                continue;
            }
            let mut ends = Some(mpsc::channel(capacity));
            measure(&name, n, rounds, if has_threads { wall_ns } else { processor_ns }, |n| {
                let (kept, sum) = runtime.block_on(stream(ends.take().unwrap(), producers, n));
                ends = Some(kept);
                sum == n * (n - 1) / 2
            });
        }
    }
}
