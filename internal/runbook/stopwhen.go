package runbook

import (
	"regexp"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/matoolkit/matoolkit/internal/humanize"
)

// StopWhen is the circuit breaker of a phase: so many failed members pause the batch.
// The format has one of the two.
type StopWhen struct {
	FailedPercent float64 `json:"failedPercent,omitempty"` // of the members who take part in the phase
	Failed        int     `json:"failed,omitempty"`
}

// String is the threshold as the format writes it; empty for none.
func (s *StopWhen) String() string {
	if s == nil {
		return ""
	}
	var parts []string
	if s.Failed > 0 {
		parts = append(parts, strconv.Itoa(s.Failed))
	}
	if s.FailedPercent > 0 {
		parts = append(parts, humanize.Percent(s.FailedPercent))
	}
	return strings.Join(parts, " or ")
}

// maxStopCount is the largest number of failed members that stop_when can name.
const maxStopCount = 1_000_000

var wholeNumber = regexp.MustCompile(`^[0-9]{1,7}$`)

func (f fields) stopWhen() *StopWhen {
	n, ok := f.values["stop_when"]
	if !ok {
		return nil
	}
	g, ok := f.p.object(n, f.join("stop_when"), stopObject)
	if !ok {
		return nil
	}
	failed, ok := g.values["failed"]
	if !ok {
		return nil
	}
	path := g.join("failed")
	if failed, ok = f.p.enter(failed, path); !ok {
		return nil
	}
	if failed.Kind == yaml.ScalarNode && failed.ShortTag() == "!!str" && strings.HasSuffix(failed.Value, "%") {
		if share := g.percentage("failed"); share > 0 {
			return &StopWhen{FailedPercent: share}
		}
		return nil
	}
	if failed.Kind != yaml.ScalarNode || failed.ShortTag() != "!!int" {
		f.p.errorf(at(failed), path, CodeBadValue, "must be a percentage such as 10%%, or a number of members such as 25, not %s", describe(failed))
		return nil
	}
	count, err := strconv.Atoi(failed.Value)
	if !wholeNumber.MatchString(failed.Value) || err != nil || count < 1 || count > maxStopCount {
		f.p.errorf(at(failed), path, CodeBadValue, "%s is invalid; use a number of members from 1 to %d", clip(failed.Value), maxStopCount)
		return nil
	}
	return &StopWhen{Failed: count}
}
