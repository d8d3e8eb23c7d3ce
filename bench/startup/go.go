// Go: its runtime is the process's and is made once, so a process is all there is to measure.
package main

func main() {
	answer := make(chan int)
	go func() { answer <- 1 }()
	if <-answer != 1 {
		panic("the goroutine says one")
	}
}
