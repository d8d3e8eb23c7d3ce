//! tokio's DelayQueue, its structure for many deadlines: insert, remove, poll_expired; time is tokio's paused clock and
//! jumps. A plain `Sleep` a timer would also measure the task that owns it.
//!
//! The problem is workload.hpp's, and so are the arguments.
use shared::{median, processor_ns, report};
use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;
use tokio_util::time::{delay_queue::Key, DelayQueue};

struct Generator(u64);

impl Generator {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    fn below(&mut self, n: u32) -> u32 {
        (((self.next() >> 32) * u64::from(n)) >> 32) as u32
    }
}

const HOUR_MS: u32 = 3_600_000;

struct Peer {
    queue: DelayQueue<u32>,
    keys: Vec<Option<Key>>,
}

impl Peer {
    fn add(&mut self, i: u32, ms: u32) {
        self.keys[i as usize] = Some(self.queue.insert(i, Duration::from_millis(ms.into())));
    }
    fn cancel(&mut self, i: u32) {
        self.queue.remove(&self.keys[i as usize].take().unwrap());
    }
    async fn advance(&mut self, ms: u32) -> usize {
        tokio::time::advance(Duration::from_millis(ms.into())).await;
        poll_fn(|cx| {
            let mut fired = 0;
            while let Poll::Ready(Some(expired)) = self.queue.poll_expired(cx) {
                self.keys[expired.into_inner() as usize] = None;
                fired += 1;
            }
            Poll::Ready(fired)
        })
        .await
    }
}

async fn run(n: u32, rounds: u32) {
    tokio::time::pause();
    let mut g = Generator(n.into());
    let deadlines: Vec<u32> = (0..n).map(|_| 1 + g.below(HOUR_MS)).collect();
    let mut order: Vec<u32> = (0..n).collect();
    for i in (2..=n).rev() {
        let j = g.below(i);
        order.swap(i as usize - 1, j as usize);
    }
    let churn: Vec<(u32, u32)> = (0..n.max(100_000)).map(|_| (g.below(n), 1 + g.below(HOUR_MS))).collect();
    let mut peer = Peer { queue: DelayQueue::with_capacity(n as usize), keys: vec![None; n as usize] };
    let mut times: [Vec<f64>; 5] = Default::default();
    let per = |begin: u64, operations: usize| (processor_ns() - begin) as f64 / operations as f64;
    for _ in 0..rounds {
        let t = processor_ns();
        for (i, &ms) in deadlines.iter().enumerate() {
            peer.add(i as u32, ms);
        }
        times[0].push(per(t, n as usize));
        let t = processor_ns();
        for &i in &order {
            peer.cancel(i);
        }
        times[1].push(per(t, n as usize));
        for (i, &ms) in deadlines.iter().enumerate() {
            peer.add(i as u32, ms);
        }
        let t = processor_ns();
        for &(i, ms) in &churn {
            peer.cancel(i);
            peer.add(i, ms);
        }
        times[2].push(per(t, churn.len()));
        for workload in [3, 4] {
            peer.queue.clear();
            for (i, &ms) in deadlines.iter().enumerate() {
                peer.add(i as u32, ms);
            }
            let t = processor_ns();
            let mut fired = 0;
            if workload == 3 {
                fired += peer.advance(HOUR_MS + 1).await;
            } else {
                for _ in 0..3600 {
                    fired += peer.advance(1000).await;
                }
                fired += peer.advance(2).await;
            }
            times[workload].push(per(t, n as usize));
            assert_eq!(fired, n as usize, "every timer must fire");
        }
    }
    for (name, mut t) in ["register", "cancel", "churn", "expire_all", "expire_steps"].iter().zip(times) {
        report(name, n.into(), median(&mut t));
    }
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let arguments: Vec<u32> = std::env::args().skip(1).map(|a| a.parse().expect("a number")).collect();
    for pair in arguments.chunks_exact(2) {
        // A fresh clock for each: tokio's pause is once a runtime.
        runtime.block_on(async {
            // Unconstrained: the cooperative budget would end a poll after 128 timers.
            tokio::task::unconstrained(run(pair[0], pair[1])).await;
            tokio::time::resume();
        });
    }
}
