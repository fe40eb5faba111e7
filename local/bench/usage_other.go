//go:build !linux

package bench

import (
	"errors"
	"time"
)

type usage struct {
	name          string
	cpu           time.Duration
	peak, written int64
}

var errNoMetrics = errors.New("the measurement reads each process's metrics from the kernel, as only Linux gives them")

func (b *bed) usage() ([]usage, error) { return nil, errNoMetrics }

func processUsage(string, int) (usage, error) { return usage{}, errNoMetrics }
