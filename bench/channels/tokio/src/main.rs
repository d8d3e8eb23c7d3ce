//! tokio's bounded mpsc between tasks of a current_thread runtime: `reserve().await`, then `Permit::send`; `recv().await`.
//! Its channel is made for threads and uses atomic operations, also where there is one; tokio has no other. The
//! cooperative budget stays as it is: a task gives way after 128 operations.
//!
//! The same problem as workload.hpp: see there. Arguments: messages, round trips, rounds, and one workload's name.
use tokio::runtime::Runtime;
use tokio::sync::mpsc;

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

fn measure(workload: &str, n: u64, sum: u64, rounds: u64, mut run: impl FnMut(u64) -> u64) {
    run(n / 8);
    let mut times: Vec<f64> = (0..rounds)
        .map(|_| {
            let begin = cpu_ns();
            let got = run(n);
            let end = cpu_ns();
            assert_eq!(got, sum, "the values that were received add up to something else than those that were sent");
            (end - begin) as f64 / n as f64
        })
        .collect();
    times.sort_by(f64::total_cmp);
    println!(
        "{{\"library\": \"tokio\", \"workload\": \"{workload}\", \"n\": {n}, \"ns_per_op\": {:.3}}}",
        times[times.len() / 2]
    );
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let size = |i: usize, otherwise: u64| arguments.get(i).map_or(otherwise, |a| a.parse().expect("a number"));
    let (messages, round_trips, rounds) = (size(0, 1_000_000), size(1, 250_000), size(2, 3));
    let is_wanted = |name: &str| arguments.get(3).map_or(true, |only| only == name);
    let runtime: Runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for producers in [1, 4] {
        for capacity in [64, 1024] {
            let name = format!("stream_{producers}x{capacity}");
            if !is_wanted(&name) {
                continue;
            }
            let mut ends = Some(mpsc::channel(capacity));
            measure(&name, messages, messages * (messages - 1) / 2, rounds, |n| {
                let (back, sum) = runtime.block_on(stream(ends.take().unwrap(), producers, n));
                ends = Some(back);
                sum
            });
        }
    }
    if is_wanted("ping_pong") {
        let mut ends = Some((mpsc::channel(1), mpsc::channel(1)));
        measure("ping_pong", round_trips, round_trips * (round_trips + 1) / 2, rounds, |n| {
            let (there, back) = ends.take().unwrap();
            let (there, back, sum) = runtime.block_on(ping_pong(there, back, n));
            ends = Some((there, back));
            sum
        });
    }
}
