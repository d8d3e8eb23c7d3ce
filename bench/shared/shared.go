// Package shared is how every Go program of this folder keeps time and says what it saw: as measure.hpp does it for C++.
package shared

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ProcessorNs is the processor time of the whole process, the collector's included.
func ProcessorNs() int64 {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return u.Utime.Nano() + u.Stime.Nano()
}

var started = time.Now()

func WallNs() int64 { return int64(time.Since(started)) }

func ResidentBytes() int64 {
	text, _ := os.ReadFile("/proc/self/statm")
	pages, _ := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	return pages * int64(os.Getpagesize())
}

// Measure runs run(n) once with less, to warm up, then rounds times; it says whether all was right.
func Measure(workload string, n uint64, rounds int, clock func() int64, run func(n uint64) bool) {
	Require(run(max(n/8, 1)), "the work was done")
	times := []float64{}
	for range rounds {
		runtime.GC()
		begin := clock()
		isRight := run(n)
		end := clock()
		Require(isRight, "the work was done")
		times = append(times, float64(end-begin)/float64(n))
	}
	Report(workload, n, Median(times))
}

func Median(times []float64) float64 {
	slices.Sort(times)
	return times[len(times)/2]
}

func Report(workload string, n uint64, ns float64) {
	fmt.Printf("{\"workload\": \"%s\", \"n\": %d, \"ns\": %.3f}\n", workload, n, ns)
}

func Require(holds bool, what string) {
	if !holds {
		fmt.Fprintln(os.Stderr, "not so:", what)
		os.Exit(1)
	}
}

func Word(i int) string {
	Require(i < len(os.Args), "the program has all of its arguments; bench/harness/table.py has them")
	return os.Args[i]
}

func Number(i int) uint64 {
	n, err := strconv.ParseUint(Word(i), 10, 64)
	Require(err == nil && n > 0, "an argument is a number from 1 on")
	return n
}
