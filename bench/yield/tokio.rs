//! tokio: tasks of a current_thread runtime that await yield_now, its own word for it. The problem is workload.hpp's.
use shared::{measure, number, processor_ns};

async fn run(tasks: u64, each: u64) -> u64 {
    let all: Vec<_> = (0..tasks)
        .map(|_| {
            tokio::spawn(async move {
                for _ in 0..each {
                    tokio::task::yield_now().await;
                }
                each
            })
        })
        .collect();
    let mut done = 0;
    for one in all {
        done += one.await.unwrap();
    }
    done
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for (name, tasks) in [("1 task", 1), ("1,000 tasks", 1000)] {
        measure(name, number(1), number(2), processor_ns, |n| {
            runtime.block_on(run(tasks, n / tasks)) == n / tasks * tasks
        });
    }
}
