// Go: goroutines on one processor (GOMAXPROCS 1) that select between what they wait for and the end of a context, which
// is how Go cancels. The WaitGroup tells when all have ended.
//
// The same problem as workload.hpp: see there. Times are the processor time of the whole process, the collector's
// included.
package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

func cpuNs() int64 {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return u.Utime.Nano() + u.Stime.Nano()
}

func residentBytes() int64 {
	text, _ := os.ReadFile("/proc/self/statm")
	pages, _ := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	return pages * int64(os.Getpagesize())
}

func round(isTimer bool, n int64) (park, cancelled, bytes int64) {
	before := residentBytes()
	begin := cpuNs()
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
	park = cpuNs() - begin
	bytes = residentBytes() - before
	asked := cpuNs()
	cancel()
	ended.Wait()
	return park, cpuNs() - asked, bytes
}

func main() {
	runtime.GOMAXPROCS(1)
	n, _ := strconv.ParseInt(os.Args[1], 10, 64)
	rounds, _ := strconv.Atoi(os.Args[2])
	for i := range rounds {
		runtime.GC()
		park, cancelled, bytes := round(os.Args[3] == "timer", n)
		each := func(x int64) float64 { return float64(x) / float64(n) }
		fmt.Printf("{\"library\": \"go\", \"workload\": \"%s\", \"n\": %d, \"round\": %d, \"park_ns\": %.1f, "+
			"\"cancel_ns\": %.1f, \"bytes\": %.1f}\n", os.Args[3], n, i, each(park), each(cancelled), each(bytes))
	}
}
