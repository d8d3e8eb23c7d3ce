// Go: a goroutine for one branch, which answers through a channel with room for one. The problem is workload.hpp's.
package main

import (
	"bench/shared"
	"runtime"
)

func fib(n uint64) uint64 {
	if n < 2 {
		return n
	}
	fork := make(chan uint64, 1)
	go func() { fork <- fib(n - 1) }()
	own := fib(n - 2)
	return own + <-fork
}

func plainFib(n uint64) uint64 {
	if n < 2 {
		return n
	}
	return plainFib(n-1) + plainFib(n-2)
}

func main() {
	n, rounds, threads := shared.Number(1), int(shared.Number(2)), int(shared.Number(3))
	runtime.GOMAXPROCS(threads)
	name, clock := "1 thread", shared.ProcessorNs
	if threads > 1 {
		name, clock = "2 threads", shared.WallNs
	}
	forks := plainFib(n+1) - 1
	shared.Measure(name, forks, rounds, clock, func(asked uint64) bool {
		if asked == forks {
			return fib(n) == plainFib(n)
		}
		return fib(n-8) == plainFib(n-8)
	})
}
