package runbook

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// maxSpan bounds every duration and offset: ten years is beyond any migration,
// and far below what time.Duration can hold.
const maxSpan = 3650 * 24 * time.Hour

// Offset is how many whole minutes before a batch's start a phase falls due. It is
// negative for a phase that falls due after the start.
type Offset int

const offsetForms = "T-5d, T-4h, T-30m, T-90s, T-0 or T+1d"

// ParseOffset reads T-5d, T-4h, T-30m or T-90s, the same with T+ for after the start,
// and T-0, for which T+0 is possible too. Seconds are rounded up to whole minutes,
// away from the start.
func ParseOffset(s string) (Offset, error) {
	rest, before := strings.CutPrefix(s, "T-")
	if !before {
		var after bool
		if rest, after = strings.CutPrefix(s, "T+"); !after {
			return 0, fmt.Errorf("invalid offset %q: use %s", clip(s), offsetForms)
		}
	}
	if rest == "0" {
		return 0, nil
	}
	d, err := ParseDuration(rest)
	if err != nil {
		return 0, fmt.Errorf("invalid offset %q: use %s: %w", clip(s), offsetForms, err)
	}
	minutes := Offset(math.Ceil(d.Minutes()))
	if !before {
		minutes = -minutes
	}
	return minutes, nil
}

// Minutes is the stored form of the offset: minutes before the batch's start,
// negative after it.
func (o Offset) Minutes() int { return int(o) }

// DueAt is the moment at which a phase of a batch that begins at start falls due.
func (o Offset) DueAt(start time.Time) time.Time {
	return start.Add(-time.Duration(o) * time.Minute)
}

// String writes the offset in its largest whole unit.
func (o Offset) String() string {
	const hour, day = 60, 24 * 60
	sign, minutes := "-", int(o)
	if minutes < 0 {
		sign, minutes = "+", -minutes
	}
	switch {
	case minutes == 0:
		return "T-0"
	case minutes%day == 0:
		return fmt.Sprintf("T%s%dd", sign, minutes/day)
	case minutes%hour == 0:
		return fmt.Sprintf("T%s%dh", sign, minutes/hour)
	}
	return fmt.Sprintf("T%s%dm", sign, minutes)
}

// ParseDuration reads a whole number with one unit: 30s, 15m, 24h or 7d.
func ParseDuration(s string) (time.Duration, error) {
	if s == "" {
		return 0, errors.New("duration is empty; write it as 30s, 15m, 24h or 7d")
	}
	var unit time.Duration
	switch s[len(s)-1] {
	case 's':
		unit = time.Second
	case 'm':
		unit = time.Minute
	case 'h':
		unit = time.Hour
	case 'd':
		unit = 24 * time.Hour
	default:
		return 0, fmt.Errorf("duration %q has no unit; write it as 30s, 15m, 24h or 7d", clip(s))
	}
	digits := s[:len(s)-1]
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return 0, fmt.Errorf("duration %q is not a whole number with one unit, such as 30s, 15m, 24h or 7d", clip(s))
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n > int64(maxSpan/unit) {
		return 0, fmt.Errorf("duration %q is longer than 3650d", clip(s))
	}
	return time.Duration(n) * unit, nil
}
