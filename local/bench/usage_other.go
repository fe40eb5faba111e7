//go:build !linux

package bench

import (
	"errors"
	"os"
	"time"
)

type usage struct {
	name          string
	cpu           time.Duration
	peak, written int64
}

var errNoMetrics = errors.New("measuring processes needs Linux")

func (b *bed) usage() ([]usage, error) { return nil, errNoMetrics }

func peakOf(*os.ProcessState) int64 { return 0 }

func processUsage(string, int) (usage, error) { return usage{}, errNoMetrics }
