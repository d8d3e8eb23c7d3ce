//! tokio: spawn for one branch, the other awaited in place. A recursive async function must be boxed. With one thread the
//! current_thread runtime, with more the stealing one. The problem is workload.hpp's.
use shared::{measure, number, processor_ns, wall_ns};
use std::{future::Future, pin::Pin};

fn fib(n: u64) -> Pin<Box<dyn Future<Output = u64> + Send>> {
    Box::pin(async move {
        if n < 2 {
            return n;
        }
        let fork = tokio::spawn(fib(n - 1));
        let own = fib(n - 2).await;
        own + fork.await.unwrap()
    })
}

fn plain_fib(n: u64) -> u64 {
    if n < 2 { n } else { plain_fib(n - 1) + plain_fib(n - 2) }
}

fn main() {
    let (n, rounds, threads) = (number(1), number(2), number(3));
    let runtime = if threads == 1 {
        tokio::runtime::Builder::new_current_thread().build().unwrap()
    } else {
        tokio::runtime::Builder::new_multi_thread().worker_threads(threads as usize).build().unwrap()
    };
    let forks = plain_fib(n + 1) - 1;
    let (name, clock): (_, fn() -> u64) = if threads == 1 { ("1 thread", processor_ns) } else { ("2 threads", wall_ns) };
    measure(name, forks, rounds, clock, |asked| {
        let m = if asked == forks { n } else { n - 8 };
        // Spawned, so that it runs on a worker and not on the thread that waits.
        runtime.block_on(async { tokio::spawn(fib(m)).await.unwrap() }) == plain_fib(m)
    });
}
