// Go's buffered channels between goroutines, on one processor or on two (GOMAXPROCS). A send has one phase; Go has no
// other. The problem is workload.hpp's, and so are the arguments.
package main

import (
	"bench/shared"
	"fmt"
	"os"
	"runtime"
	"strings"
)

func stream(values chan uint64, producers, n uint64) uint64 {
	for p := range producers {
		go func() {
			for v := p; v < n; v += producers {
				values <- v
			}
		}()
	}
	result := make(chan uint64)
	go func() {
		sum := uint64(0)
		for range n {
			sum += <-values
		}
		result <- sum
	}()
	return <-result
}

func pingPong(there, back chan uint64, n uint64) uint64 {
	result := make(chan uint64)
	go func() {
		sum := uint64(0)
		for i := range n {
			there <- i
			sum += <-back
		}
		result <- sum
	}()
	go func() {
		for range n {
			back <- <-there + 1
		}
	}()
	return <-result
}

func main() {
	mode, n, rounds := shared.Word(1), shared.Number(2), int(shared.Number(3))
	how, clock := "", shared.ProcessorNs
	runtime.GOMAXPROCS(1)
	if strings.HasSuffix(mode, "threads") {
		how, clock = " threads", shared.WallNs
		runtime.GOMAXPROCS(2)
	}
	if strings.HasPrefix(mode, "ping_pong") {
		there, back := make(chan uint64, 1), make(chan uint64, 1)
		shared.Measure("ping-pong"+how, n, rounds, clock, func(n uint64) bool {
			return pingPong(there, back, n) == n*(n+1)/2
		})
		return
	}
	for _, producers := range []uint64{1, 4} {
		for _, capacity := range []int{64, 1024} {
			name := fmt.Sprintf("%dx%d%s", producers, capacity, how)
			if len(os.Args) > 4 && os.Args[4] != name {
				continue
			}
			values := make(chan uint64, capacity)
			shared.Measure(name, n, rounds, clock, func(n uint64) bool {
				return stream(values, producers, n) == n*(n-1)/2
			})
		}
	}
}
