package schedule

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// A batch starts in one of these years. Outside of them are only what databases
// keep for "never" and "not yet known": 0001-01-01, 1900-01-01, 9999-12-31.
const (
	firstYear = 2000
	lastYear  = 2199
)

// ImmediateStart is the start of a batch whose members are found at now, when the
// runbook says batch_time: immediate. It is in UTC and on a full five minutes.
func ImmediateStart(now time.Time) time.Time {
	return now.UTC().Round(5 * time.Minute)
}

// timeError is why the value of a batch time column is none.
type timeError struct{ code, message string }

func badTime(format string, args ...any) *timeError {
	return &timeError{CodeBadTime, fmt.Sprintf(format, args...)}
}

// startText takes the text of a batch time out of its JSON.
func startText(value json.RawMessage) (string, *timeError) {
	missing := &timeError{CodeMissingTime, "the batch time is missing"}
	switch value[0] {
	case 'n':
		return "", missing
	case '"':
	case '[', '{':
		return "", badTime("the batch time is a list or an object; %s", expected)
	default:
		return "", badTime("the batch time is %s, which is not text; %s", clip(string(value)), expected)
	}
	var s string
	if err := json.Unmarshal(value, &s); err != nil {
		return "", badTime("the batch time cannot be read: %v", err)
	}
	if s = strings.TrimSpace(s); s == "" {
		return "", missing
	}
	return s, nil
}

const expected = `use a time such as "2026-03-01T18:00:00+01:00", "2026-03-01 18:00" or "2026-03-01"`

// startForm has the date, the hour and minute, the seconds and the zone.
var startForm = regexp.MustCompile(`^(\d{4}-\d\d-\d\d)(?:[Tt ](\d\d:\d\d)(:\d\d(?:\.\d{1,9})?)?([Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)?)?$`)

// parseStart reads a batch time: RFC 3339, the same without a zone, without seconds
// or with a space for the T, or a date, which is its midnight. What has no zone of
// its own is in loc. The answer is in UTC.
func parseStart(s string, loc *time.Location) (time.Time, *timeError) {
	m := startForm.FindStringSubmatch(s)
	if m == nil {
		return time.Time{}, badTime("%q is not a time; %s", clip(s), expected)
	}
	date, clock, seconds, zone := m[1], m[2], m[3], strings.ToUpper(m[4])
	if clock == "" {
		clock = "00:00"
	}
	if seconds == "" {
		seconds = ":00"
	}
	if zone == "" {
		// As if it were in UTC: the time that a clock on the wall shows.
		zone = "Z"
	} else {
		loc = time.UTC
	}
	wall, err := time.Parse(time.RFC3339Nano, date+"T"+clock+seconds+zone)
	if err != nil {
		return time.Time{}, badTime("%q has a day or hour that does not exist; %s", clip(s), expected)
	}
	wall = wall.UTC()
	if y := wall.Year(); y < firstYear || y > lastYear {
		return time.Time{}, badTime("%q is outside the years %d to %d", clip(s), firstYear, lastYear)
	}
	switch at := moments(wall, loc); len(at) {
	case 1:
		return at[0], nil
	case 0:
		return time.Time{}, badTime("%q does not exist in %s: the clocks are set forward past it", clip(s), loc)
	default:
		return time.Time{}, badTime("%q occurs twice in %s, when the clocks are set back; add its UTC offset", clip(s), loc)
	}
}

// ParseStart reads the start of a batch as a data source has it. A time without a zone is in loc.
func ParseStart(text string, loc *time.Location) (time.Time, error) {
	start, fault := parseStart(strings.TrimSpace(text), loc)
	if fault != nil {
		return time.Time{}, errors.New(fault.message)
	}
	return start, nil
}

// moments are the instants, in UTC, at which clocks in loc show what wall shows in
// UTC: one, or none or two where the clocks change.
func moments(wall time.Time, loc *time.Location) []time.Time {
	// Date picks one offset where it has a choice; the others that can apply are
	// those before and after the stretch of time in which that one is in force.
	t := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), wall.Second(), wall.Nanosecond(), loc)
	near := []time.Time{t}
	begin, end := t.ZoneBounds()
	if !begin.IsZero() {
		near = append(near, begin.Add(-1))
	}
	if !end.IsZero() {
		near = append(near, end)
	}
	var found []time.Time
	for _, n := range near {
		_, offset := n.Zone()
		at := wall.Add(-time.Duration(offset) * time.Second)
		_, shown := at.In(loc).Zone()
		if shown == offset && (len(found) == 0 || !found[0].Equal(at)) {
			found = append(found, at)
		}
	}
	return found
}
