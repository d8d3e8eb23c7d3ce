// Go's buffered channels between goroutines on one processor (GOMAXPROCS 1). A send has one phase; Go has no other.
//
// The same problem as workload.hpp: see there. Arguments: messages, round trips, rounds, and one workload's name. Times
// are the processor time of the whole process, the collector's included.
package main

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"syscall"
)

func cpuNs() int64 {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return u.Utime.Nano() + u.Stime.Nano()
}

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

func measure(workload string, n, sum uint64, rounds int, run func(n uint64) uint64) {
	run(n / 8)
	times := []float64{}
	for range rounds {
		runtime.GC()
		begin := cpuNs()
		got := run(n)
		end := cpuNs()
		if got != sum {
			fmt.Fprintln(os.Stderr, "the values that were received add up to something else than those that were sent")
			os.Exit(1)
		}
		times = append(times, float64(end-begin)/float64(n))
	}
	slices.Sort(times)
	fmt.Printf("{\"library\": \"go\", \"workload\": \"%s\", \"n\": %d, \"ns_per_op\": %.3f}\n", workload, n,
		times[len(times)/2])
}

func main() {
	runtime.GOMAXPROCS(1)
	sizes := []uint64{1000000, 250000, 3}
	for i := range sizes {
		if len(os.Args) > i+1 {
			v, err := strconv.ParseUint(os.Args[i+1], 10, 64)
			if err != nil || v == 0 {
				fmt.Fprintln(os.Stderr, "arguments: messages round_trips rounds [workload]")
				os.Exit(2)
			}
			sizes[i] = v
		}
	}
	messages, roundTrips, rounds := sizes[0], sizes[1], int(sizes[2])
	isWanted := func(name string) bool { return len(os.Args) < 5 || os.Args[4] == name }
	for _, producers := range []uint64{1, 4} {
		for _, capacity := range []int{64, 1024} {
			name := fmt.Sprintf("stream_%dx%d", producers, capacity)
			if !isWanted(name) {
				continue
			}
			values := make(chan uint64, capacity)
			measure(name, messages, messages*(messages-1)/2, rounds, func(n uint64) uint64 {
				return stream(values, producers, n)
			})
		}
	}
	if isWanted("ping_pong") {
		there, back := make(chan uint64, 1), make(chan uint64, 1)
		measure("ping_pong", roundTrips, roundTrips*(roundTrips+1)/2, rounds, func(n uint64) uint64 {
			return pingPong(there, back, n)
		})
	}
}
