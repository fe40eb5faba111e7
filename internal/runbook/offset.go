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

// Offset is how many whole minutes before a batch's start a phase falls due.
type Offset int

// ParseOffset reads T-5d, T-4h, T-30m, T-90s or T-0. Seconds are rounded up to
// whole minutes. Offsets after the start (T+1d) are refused.
func ParseOffset(s string) (Offset, error) {
	if strings.HasPrefix(s, "T+") {
		return 0, fmt.Errorf("offset %q lies after the batch start; only T- and T-0 are possible", clip(s))
	}
	rest, ok := strings.CutPrefix(s, "T-")
	if !ok {
		return 0, fmt.Errorf("offset %q is not of the form T-5d, T-4h, T-30m, T-90s or T-0", clip(s))
	}
	if rest == "0" {
		return 0, nil
	}
	d, err := ParseDuration(rest)
	if err != nil {
		return 0, fmt.Errorf("offset %q is not of the form T-5d, T-4h, T-30m, T-90s or T-0: %w", clip(s), err)
	}
	return Offset(math.Ceil(d.Minutes())), nil
}

// Minutes is the offset as it is stored: minutes before the batch's start.
func (o Offset) Minutes() int { return int(o) }

// DueAt is the moment at which a phase of a batch that begins at start falls due.
func (o Offset) DueAt(start time.Time) time.Time {
	return start.Add(-time.Duration(o) * time.Minute)
}

// String writes the offset in its largest whole unit.
func (o Offset) String() string {
	const hour, day = 60, 24 * 60
	switch {
	case o == 0:
		return "T-0"
	case o%day == 0:
		return fmt.Sprintf("T-%dd", int(o)/day)
	case o%hour == 0:
		return fmt.Sprintf("T-%dh", int(o)/hour)
	}
	return fmt.Sprintf("T-%dm", int(o))
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
		return 0, fmt.Errorf("duration %q is not a whole number with one unit, as 30s, 15m, 24h or 7d", clip(s))
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n > int64(maxSpan/unit) {
		return 0, fmt.Errorf("duration %q is longer than 3650d", clip(s))
	}
	return time.Duration(n) * unit, nil
}
