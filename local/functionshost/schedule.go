package functionshost

import (
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// schedule is a parsed six-field NCRONTAB expression, in UTC.
type schedule struct{ cron cron.Schedule }

var ncrontab = cron.NewParser(cron.Second | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)

func parseSchedule(expression string) (schedule, error) {
	fields := strings.Fields(expression)
	if len(fields) != 6 {
		return schedule{}, fmt.Errorf("schedule %q: want six fields: second minute hour day month weekday", expression)
	}
	if strings.ContainsAny(expression, "?=@") {
		return schedule{}, fmt.Errorf("invalid NCRONTAB expression %q", expression)
	}
	if !strings.HasPrefix(fields[3], "*") && !strings.HasPrefix(fields[5], "*") {
		return schedule{}, fmt.Errorf("schedule %q: a day of the month together with a weekday is not supported", expression)
	}
	parsed, err := ncrontab.Parse(expression)
	if err != nil {
		return schedule{}, fmt.Errorf("schedule %q: %w", expression, err)
	}
	s := schedule{parsed}
	if s.next(time.Unix(0, 0)).IsZero() {
		return schedule{}, fmt.Errorf("schedule %q never occurs", expression)
	}
	return s, nil
}

// next is the first occurrence after t.
func (s schedule) next(t time.Time) time.Time { return s.cron.Next(t.UTC()) }

// subMinute tells whether occurrences can be less than a minute apart; the host
// keeps no status for such a schedule.
func (s schedule) subMinute(now time.Time) bool {
	at := s.next(now)
	for range 3 {
		following := s.next(at)
		if following.Sub(at) < time.Minute {
			return true
		}
		at = following
	}
	return false
}
