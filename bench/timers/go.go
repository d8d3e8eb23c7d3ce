// Go's runtime timers: time.AfterFunc, Stop, and Reset on a stopped timer. One processor (GOMAXPROCS 1).
//
// The same problem as workload.hpp (see there), with one difference: Go's clock cannot be moved, so expire_all uses
// deadlines a ten-thousandth as far away (0.1 us to 0.36 s) and reports the processor time of the whole process until
// the last callback ran, less what registering cost; each callback is a goroutine, which is what AfterFunc gives.
// expire_steps has no counterpart and is left out.
package main

import (
	"bench/shared"
	"os"
	"runtime"
	"sync/atomic"
	"time"
)

type generator uint64

func (g *generator) next() uint64 {
	*g += 0x9e3779b97f4a7c15
	z := uint64(*g)
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb
	return z ^ (z >> 31)
}

func (g *generator) below(n uint32) uint32 { return uint32((g.next() >> 32) * uint64(n) >> 32) }

const hourMs = 3600000

var fired atomic.Int64

func onTimer() { fired.Add(1) }

func run(n uint32, rounds int) {
	g := generator(n)
	deadlines := make([]uint32, n)
	order := make([]uint32, n)
	for i := range deadlines {
		deadlines[i] = 1 + g.below(hourMs)
		order[i] = uint32(i)
	}
	for i := n; i > 1; i-- {
		j := g.below(i)
		order[i-1], order[j] = order[j], order[i-1]
	}
	type swap struct{ timer, ms uint32 }
	churn := make([]swap, max(n, 100000))
	for i := range churn {
		churn[i] = swap{g.below(n), 1 + g.below(hourMs)}
	}
	timers := make([]*time.Timer, n)
	for i := range timers {
		timers[i] = time.AfterFunc(time.Hour, onTimer)
		timers[i].Stop()
	}
	addAll := func() {
		for i, ms := range deadlines {
			timers[i].Reset(time.Duration(ms) * time.Millisecond)
		}
	}
	names := []string{"register", "cancel", "churn", "expire_all"}
	times := make([][]float64, len(names))
	timed := func(workload int, operations int, body func()) {
		runtime.GC()
		begin := shared.ProcessorNs()
		body()
		times[workload] = append(times[workload], float64(shared.ProcessorNs()-begin)/float64(operations))
	}
	for range rounds {
		timed(0, int(n), addAll)
		timed(1, int(n), func() {
			for _, i := range order {
				timers[i].Stop()
			}
		})
		addAll()
		timed(2, len(churn), func() {
			for _, c := range churn {
				timers[c.timer].Stop()
				timers[c.timer].Reset(time.Duration(c.ms) * time.Millisecond)
			}
		})
		for _, t := range timers {
			t.Stop()
		}
		fired.Store(0)
		timed(3, int(n), func() {
			for i, ms := range deadlines {
				timers[i].Reset(time.Duration(ms) * time.Millisecond / 10000)
			}
			for fired.Load() < int64(n) {
				time.Sleep(time.Millisecond)
			}
		})
		last := len(times[3]) - 1
		times[3][last] -= times[0][len(times[0])-1]
	}
	for w, name := range names {
		shared.Report(name, uint64(n), shared.Median(times[w]))
	}
}

func main() {
	runtime.GOMAXPROCS(1)
	for i := 1; i < len(os.Args); i += 2 {
		run(uint32(shared.Number(i)), int(shared.Number(i+1)))
	}
}
