// Go: goroutines on one processor (GOMAXPROCS 1) that call runtime.Gosched. The problem is workload.hpp's.
package main

import (
	"bench/shared"
	"runtime"
	"sync"
	"sync/atomic"
)

func run(tasks, each uint64) uint64 {
	var ended sync.WaitGroup
	var done atomic.Uint64
	ended.Add(int(tasks))
	for range tasks {
		go func() {
			for range each {
				runtime.Gosched()
			}
			done.Add(each)
			ended.Done()
		}()
	}
	ended.Wait()
	return done.Load()
}

func main() {
	runtime.GOMAXPROCS(1)
	for _, tasks := range []uint64{1, 1000} {
		name := map[uint64]string{1: "1 task", 1000: "1,000 tasks"}[tasks]
		shared.Measure(name, shared.Number(1), int(shared.Number(2)), shared.ProcessorNs, func(n uint64) bool {
			return run(tasks, n/tasks) == n/tasks*tasks
		})
	}
}
