// Go: goroutines on one processor (GOMAXPROCS 1), or on two, and a WaitGroup. The problem is workload.hpp's.
package main

import (
	"bench/shared"
	"runtime"
	"sync"
	"sync/atomic"
)

func run(n, batch uint64) uint64 {
	var sum atomic.Uint64 // A goroutine may be interrupted anywhere, even on one processor.
	var ended sync.WaitGroup
	for first := uint64(0); first < n; first += batch {
		for i := first; i < min(first+batch, n); i++ {
			ended.Add(1)
			go func() {
				sum.Add(i)
				ended.Done()
			}()
		}
		ended.Wait()
	}
	return sum.Load()
}

func main() {
	rounds := int(shared.Number(3))
	sum := func(n uint64) uint64 { return n * (n - 1) / 2 }
	if shared.Word(1) == "threads" {
		runtime.GOMAXPROCS(2)
		shared.Measure("batches, threads", shared.Number(2), rounds, shared.WallNs, func(n uint64) bool {
			return run(n, 1000) == sum(n)
		})
		return
	}
	runtime.GOMAXPROCS(1)
	shared.Measure("batches of 1,000", shared.Number(1), rounds, shared.ProcessorNs, func(n uint64) bool {
		return run(n, 1000) == sum(n)
	})
	shared.Measure("all at once", shared.Number(2), rounds, shared.ProcessorNs, func(n uint64) bool {
		return run(n, n) == sum(n)
	})
}
