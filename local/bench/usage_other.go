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

var errNoFigures = errors.New("the measurement reads each process's figures from the kernel, as only Linux gives them")

func (b *bed) usage() ([]usage, error) { return nil, errNoFigures }

func processUsage(string, int) (usage, error) { return usage{}, errNoFigures }
