//! tokio's bounded mpsc between tasks: `reserve().await`, then `Permit::send`; `recv().await`. Its channel is made for
//! threads and uses atomic operations, also where there is one; tokio has no other. The cooperative budget stays as it
//! is: a task gives way after 128 operations. One thread: the current_thread runtime; else the stealing one with two.
//!
//! The problem is workload.hpp's, and so are the arguments.
use shared::{measure, number, processor_ns, wall_ns, word};
use tokio::sync::mpsc;

type Ends = (mpsc::Sender<u64>, mpsc::Receiver<u64>);

async fn send(to: &mpsc::Sender<u64>, value: u64) {
    to.reserve().await.expect("the receiver lives").send(value);
}

/// Hands the ends back, so that the next run uses the same channel.
async fn stream((to, mut from): Ends, producers: u64, n: u64) -> (Ends, u64) {
    for p in 0..producers {
        let to = to.clone();
        tokio::spawn(async move {
            let mut value = p;
            while value < n {
                send(&to, value).await;
                value += producers;
            }
        });
    }
    let consumer = tokio::spawn(async move {
        let mut sum = 0u64;
        for _ in 0..n {
            sum += from.recv().await.expect("a sender lives");
        }
        (from, sum)
    });
    let (from, sum) = consumer.await.unwrap();
    ((to, from), sum)
}

async fn ping_pong(there: Ends, back: Ends, n: u64) -> (Ends, Ends, u64) {
    let (there_to, mut there_from) = there;
    let (back_to, mut back_from) = back;
    let server = tokio::spawn(async move {
        let mut sum = 0u64;
        for i in 0..n {
            send(&there_to, i).await;
            sum += back_from.recv().await.expect("a sender lives");
        }
        (there_to, back_from, sum)
    });
    let answerer = tokio::spawn(async move {
        for _ in 0..n {
            let value = there_from.recv().await.expect("a sender lives");
            send(&back_to, value + 1).await;
        }
        (there_from, back_to)
    });
    let (there_to, back_from, sum) = server.await.unwrap();
    let (there_from, back_to) = answerer.await.unwrap();
    ((there_to, there_from), (back_to, back_from), sum)
}

fn main() {
    let (mode, n, rounds) = (word(1), number(2), number(3));
    let only = std::env::args().nth(4);
    let has_threads = mode.ends_with("threads");
    let runtime = if has_threads {
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap()
    } else {
        tokio::runtime::Builder::new_current_thread().build().unwrap()
    };
    if mode.starts_with("ping_pong") {
        let mut ends = Some((mpsc::channel(1), mpsc::channel(1)));
        let name = if has_threads { "ping-pong threads" } else { "ping-pong" };
        measure(name, n, rounds, if has_threads { wall_ns } else { processor_ns }, |n| {
            let (there, back) = ends.take().unwrap();
            let (there, back, sum) = runtime.block_on(ping_pong(there, back, n));
            ends = Some((there, back));
            sum == n * (n + 1) / 2
        });
        return;
    }
    for producers in [1, 4] {
        for capacity in [64, 1024] {
            let name = format!("{producers}x{capacity}{}", if has_threads { " threads" } else { "" });
            if only.as_ref().is_some_and(|wanted| *wanted != name) {
                continue;
            }
            let mut ends = Some(mpsc::channel(capacity));
            measure(&name, n, rounds, if has_threads { wall_ns } else { processor_ns }, |n| {
                let (back, sum) = runtime.block_on(stream(ends.take().unwrap(), producers, n));
                ends = Some(back);
                sum == n * (n - 1) / 2
            });
        }
    }
}
