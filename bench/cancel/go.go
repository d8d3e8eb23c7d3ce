// Go: goroutines on one processor (GOMAXPROCS 1) that select between what they wait for and the end of a context, which
// is how Go cancels. The WaitGroup tells when all have ended.
//
// The problem is workload.hpp's, and so are the arguments.
package main

import (
	"bench/shared"
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"
)

func round(isTimer bool, n int64) (park, cancelled, bytes int64) {
	before := shared.ResidentBytes()
	begin := shared.ProcessorNs()
	ctx, cancel := context.WithCancel(context.Background())
	full := make(chan int64, 1)
	full <- 0
	var began, ended sync.WaitGroup
	began.Add(int(n))
	ended.Add(int(n))
	for i := range n {
		if isTimer {
			go func() {
				defer ended.Done()
				t := time.NewTimer(time.Hour)
				began.Done()
				select {
				case <-t.C:
				case <-ctx.Done():
					t.Stop()
				}
			}()
		} else {
			go func() {
				defer ended.Done()
				began.Done()
				select {
				case full <- i:
				case <-ctx.Done():
				}
			}()
		}
	}
	began.Wait()
	runtime.Gosched()
	park = shared.ProcessorNs() - begin
	bytes = shared.ResidentBytes() - before
	asked := shared.ProcessorNs()
	cancel()
	ended.Wait()
	return park, shared.ProcessorNs() - asked, bytes
}

func main() {
	runtime.GOMAXPROCS(1)
	n, workload := int64(shared.Number(1)), shared.Word(3)
	for range shared.Number(2) {
		runtime.GC()
		park, cancelled, bytes := round(workload == "timer", n)
		each := func(x int64) float64 { return float64(x) / float64(n) }
		fmt.Printf("{\"workload\": \"%s\", \"n\": %d, \"ns\": %.1f, \"park_ns\": %.1f, \"bytes\": %.1f}\n", workload, n,
			each(cancelled), each(park), each(bytes))
	}
}
