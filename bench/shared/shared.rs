//! How every Rust program of this folder keeps time and says what it saw: as measure.hpp does it for C++.
use std::io::Write;

/// The thread's own processor time.
pub fn processor_ns() -> u64 {
    read_clock(3)
}

pub fn wall_ns() -> u64 {
    read_clock(1)
}

fn read_clock(clock: i32) -> u64 {
    let mut t = [0i64; 2];
    extern "C" {
        fn clock_gettime(clock: i32, t: *mut i64) -> i32;
    }
    unsafe { clock_gettime(clock, t.as_mut_ptr()) };
    t[0] as u64 * 1_000_000_000 + t[1] as u64
}

pub fn resident_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
}

/// Runs `run(n)` once with less, to warm up, then `rounds` times; it says whether all was right.
pub fn measure(workload: &str, n: u64, rounds: u64, clock: fn() -> u64, mut run: impl FnMut(u64) -> bool) {
    assert!(run(if n < 8 { n } else { n / 8 }), "the work was done");
    let mut times: Vec<f64> = (0..rounds)
        .map(|_| {
            let begin = clock();
            let is_right = run(n);
            let end = clock();
            assert!(is_right, "the work was done");
            (end - begin) as f64 / n as f64
        })
        .collect();
    report(workload, n, median(&mut times));
}

pub fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

pub fn report(workload: &str, n: u64, ns: f64) {
    println!("{{\"workload\": \"{workload}\", \"n\": {n}, \"ns\": {ns:.3}}}");
    std::io::stdout().flush().unwrap();
}

pub fn word(i: usize) -> String {
    std::env::args().nth(i).expect("the program has all of its arguments; bench/harness/table.py has them")
}

pub fn number(i: usize) -> u64 {
    word(i).parse().expect("a number")
}
