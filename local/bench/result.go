package bench

import (
	"fmt"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/local/system"
)

// Stats are the counters of the parts, as "matoolkit local up --stats" writes them.
type Stats = system.Stats

type result struct {
	elapsed time.Duration
	usage   []usage
	stats   counted
	logged  int64 // bytes that the host, with the handler, and the worker wrote to their logs
}

type counted struct{ Stats }

func (c counted) reads() int64  { return c.Cosmos.PointReads }
func (c counted) writes() int64 { return c.Cosmos.SingleWrites + c.Cosmos.Batches }

func (c counted) sent() int64 {
	var n int64
	for name, e := range c.ServiceBus.Entities {
		if !strings.Contains(name, "/") {
			n += e.Sent
		}
	}
	return n
}

func (r result) cpu() (total time.Duration) {
	for _, u := range r.usage {
		total += u.cpu
	}
	return total
}

func (r result) rate(steps int) rate {
	n := float64(steps)
	return rate{perSecond: n / r.elapsed.Seconds(), cpu: r.cpu().Seconds() * 1000 / n, written: float64(r.written()) / 1024 / n}
}

func (r result) written() (total int64) {
	for _, u := range r.usage {
		total += u.written
	}
	return total
}

func (r result) processes() string {
	var parts []string
	for _, u := range r.usage {
		parts = append(parts, fmt.Sprintf("%s %.1f s %.0f MB", u.name, u.cpu.Seconds(), float64(u.peak)/(1<<20)))
	}
	return strings.Join(parts, ", ")
}

// of is the usage of a process, of all its replicas together; the peak is that of the largest.
func (r result) of(process string) (sum usage) {
	for _, u := range r.usage {
		if u.name == process || strings.HasPrefix(u.name, process+"-") {
			sum.cpu += u.cpu
			sum.written += u.written
			sum.peak = max(sum.peak, u.peak)
		}
	}
	return sum
}
