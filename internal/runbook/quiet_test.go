package runbook

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"
)

// quietRunbook is a runbook with quiet hours that are written in flow style.
func quietRunbook(quiet string) string {
	return "name: n\ndata_source: {type: csv, connection: PEOPLE, primary_key: Mail, batch_time_column: Start}\nquiet_hours: " + quiet +
		"\nphases:\n  - {name: p, offset: T-0, steps: [{name: s, worker_id: w, function: F}]}\n"
}

func parseQuiet(t *testing.T, quiet string) *QuietHours {
	t.Helper()
	rb, found := Parse([]byte(quietRunbook(quiet)))
	if len(found) > 0 || rb.QuietHours == nil {
		t.Fatalf("%s: %v", quiet, found)
	}
	return rb.QuietHours
}

func TestQuietHoursAreRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]QuietHours{
		`{time_zone: UTC, windows: [{from: "00:00", to: "23:59"}]}`: {"UTC", []Window{{From: 0, To: 1439}}},
		`{time_zone: Europe/Berlin, windows: [{days: [mon, sun], from: 08:00, to: 24:00}, {from: "22:30", to: "06:05"}]}`: {
			"Europe/Berlin", []Window{{[]time.Weekday{time.Monday, time.Sunday}, 480, 1440}, {From: 1350, To: 365}},
		},
		`{time_zone: America/Argentina/Buenos_Aires, windows: [{days: [tue, wed, thu, fri, sat], from: "09:00", to: "09:00"}]}`: {
			"America/Argentina/Buenos_Aires",
			[]Window{{[]time.Weekday{time.Tuesday, time.Wednesday, time.Thursday, time.Friday, time.Saturday}, 540, 540}},
		},
	} {
		if got := parseQuiet(t, text); !reflect.DeepEqual(*got, want) {
			t.Errorf("%s is read as %+v", text, *got)
		}
	}
	if rb, found := Parse([]byte(smallest)); rb == nil || rb.QuietHours != nil {
		t.Errorf("without quiet hours: %v", found)
	}
}

func TestAsManyWindowsAsThereAre(t *testing.T) {
	t.Parallel()
	windows := func(n int) string {
		return "{time_zone: UTC, windows: [" + strings.Repeat(`{from: "08:00", to: "09:00"},`, n) + "]}"
	}
	if q := parseQuiet(t, windows(maxWindows)); len(q.Windows) != maxWindows {
		t.Errorf("%d windows", len(q.Windows))
	}
	if _, found := Parse([]byte(quietRunbook(windows(maxWindows + 1)))); len(found) != 1 || found[0].Code != CodeTooLarge {
		t.Errorf("found %v", found)
	}
}

// A batch's document holds its quiet hours, for as long as the batch lives.
func TestQuietHoursAreStored(t *testing.T) {
	t.Parallel()
	q := parseQuiet(t, `{time_zone: Europe/Berlin, windows: [{days: [mon, sun], from: 08:00, to: 24:00}, {from: "22:30", to: "06:05"}]}`)
	stored, err := json.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"timeZone":"Europe/Berlin","windows":[{"days":[1,0],"from":480,"to":1440},{"from":1350,"to":365}]}`; string(stored) != want {
		t.Errorf("stored as %s", stored)
	}
	var back QuietHours
	if err := json.Unmarshal(stored, &back); err != nil || !reflect.DeepEqual(&back, q) {
		t.Errorf("read back as %+v, %v", back, err)
	}
}

func TestQuietHoursEnd(t *testing.T) {
	t.Parallel()
	const (
		work    = `{time_zone: Europe/Berlin, windows: [{days: [mon, tue, wed, thu, fri], from: "08:00", to: "18:00"}]}`
		weekend = `{time_zone: Europe/Berlin, windows: [{days: [sun], from: "00:00", to: "24:00"}, {days: [sat], from: "00:00", to: "00:00"}]}`
		friday  = `{time_zone: Europe/Berlin, windows: [{days: [fri], from: "22:00", to: "06:00"}]}`
		saturn  = `{time_zone: Europe/Berlin, windows: [{days: [sat], from: "22:00", to: "06:00"}]}`
		nights  = `{time_zone: Europe/Berlin, windows: [{from: "22:00", to: "02:30"}]}`
		long    = `{time_zone: Europe/Berlin, windows: [{from: "22:00", to: "03:00"}]}`
		lost    = `{time_zone: Europe/Berlin, windows: [{from: "02:00", to: "03:00"}]}`
		later   = `{time_zone: Europe/Berlin, windows: [{from: "02:15", to: "04:00"}]}`
		joined  = `{time_zone: UTC, windows: [{from: "10:00", to: "12:00"}, {from: "11:00", to: "13:00"}, {from: "13:00", to: "14:00"}, {from: "14:01", to: "15:00"}]}`
		narrow  = `{time_zone: Europe/Berlin, windows: [{from: "02:31", to: "02:30"}]}`
		around  = `{time_zone: UTC, windows: [{days: [mon], from: "08:00", to: "08:00"}]}`
		apia    = `{time_zone: Pacific/Apia, windows: [{days: [thu, sat], from: "00:00", to: "24:00"}]}`
		apiaOff = `{time_zone: Pacific/Apia, windows: [{days: [fri], from: "00:00", to: "24:00"}]}`
	)
	for name, tc := range map[string]struct{ quiet, at, end string }{
		"before":                      {work, "2026-03-02T07:59:59.999999999+01:00", ""},
		"as it begins":                {work, "2026-03-02T08:00:00+01:00", "2026-03-02T18:00:00+01:00"},
		"within":                      {work, "2026-03-02T12:34:56.789+01:00", "2026-03-02T18:00:00+01:00"},
		"from another zone":           {work, "2026-03-02T16:30:00Z", "2026-03-02T18:00:00+01:00"},
		"a moment before it ends":     {work, "2026-03-02T17:59:59.999999999+01:00", "2026-03-02T18:00:00+01:00"},
		"as it ends":                  {work, "2026-03-02T18:00:00+01:00", ""},
		"on another day":              {work, "2026-03-01T12:00:00+01:00", ""},
		"summer time":                 {work, "2026-07-01T06:00:00Z", "2026-07-01T18:00:00+02:00"},
		"a weekend":                   {weekend, "2026-03-07T00:00:00+01:00", "2026-03-09T00:00:00+01:00"},
		"into the day after":          {friday, "2026-03-07T05:59:59+01:00", "2026-03-07T06:00:00+01:00"},
		"not into the next":           {friday, "2026-03-08T05:00:00+01:00", ""},
		"not from the day before":     {friday, "2026-03-06T05:00:00+01:00", ""},
		"into the next week":          {saturn, "2026-03-08T05:00:00+01:00", "2026-03-08T06:00:00+01:00"},
		"around the clock":            {around, "2026-03-02T08:00:00Z", "2026-03-03T08:00:00Z"},
		"overlapping and touching":    {joined, "2026-03-02T10:00:00Z", "2026-03-02T14:00:00Z"},
		"a minute between":            {joined, "2026-03-02T14:00:59Z", ""},
		"spring: ends in the gap":     {nights, "2026-03-28T23:00:00+01:00", "2026-03-29T03:00:00+02:00"},
		"spring: before the gap":      {lost, "2026-03-29T01:59:59+01:00", ""},
		"spring: after the gap":       {lost, "2026-03-29T03:00:00+02:00", ""},
		"spring: begins in the gap":   {later, "2026-03-29T03:00:00+02:00", "2026-03-29T04:00:00+02:00"},
		"spring: the only minute":     {narrow, "2026-03-28T23:00:00+01:00", "2026-03-30T02:30:00+02:00"},
		"autumn: the first time":      {nights, "2026-10-24T23:00:00+02:00", "2026-10-25T02:30:00+02:00"},
		"autumn: between the two":     {nights, "2026-10-25T02:30:00+02:00", ""},
		"autumn: the second time":     {nights, "2026-10-25T02:00:00+01:00", "2026-10-25T02:30:00+01:00"},
		"autumn: over both":           {long, "2026-10-25T02:59:59+02:00", "2026-10-25T03:00:00+01:00"},
		"a day that never came":       {apia, "2011-12-29T12:00:00-10:00", "2012-01-01T00:00:00+14:00"},
		"quiet on a day that did not": {apiaOff, "2011-12-29T23:59:59-10:00", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := parseQuiet(t, tc.quiet)
			at := moment(t, tc.at)
			end, quiet := q.Until(at)
			if tc.end == "" {
				if quiet || end != at {
					t.Errorf("%v is quiet: %v, until %v", at, quiet, end)
				}
				return
			}
			if want := moment(t, tc.end); !quiet || end.Format(time.RFC3339Nano) != tc.end || !end.Equal(want) {
				t.Errorf("%v is quiet: %v, until %v; want %v", at, quiet, end, want)
			}
		})
	}
}

func moment(t *testing.T, text string) time.Time {
	t.Helper()
	m, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestNoQuietHours(t *testing.T) {
	t.Parallel()
	at := moment(t, "2026-03-02T08:00:00Z")
	for _, q := range []*QuietHours{nil, {}, {TimeZone: "UTC"}} {
		if end, quiet := q.Until(at); quiet || end != at {
			t.Errorf("%v: %v, %v", q, end, quiet)
		}
	}
}

// Parse refuses these; a caller that made them itself must not wait for ever.
func TestQuietHoursWithoutAnEnd(t *testing.T) {
	t.Parallel()
	q := &QuietHours{TimeZone: "UTC", Windows: []Window{{From: 0, To: minutesOfDay}}}
	at := moment(t, "2026-03-02T08:00:00Z")
	if end, quiet := q.Until(at); !quiet || !end.Equal(at.AddDate(0, 0, 7)) {
		t.Errorf("%v, %v", end, quiet)
	}
}

// isQuiet tells of one moment on the clock whether it is quiet, window by window.
func isQuiet(q *QuietHours, at time.Time) bool {
	minute := at.Hour()*60 + at.Minute()
	on := func(w Window, day time.Weekday) bool {
		for _, d := range w.Days {
			if d == day {
				return true
			}
		}
		return len(w.Days) == 0
	}
	for _, w := range q.Windows {
		today, yesterday := on(w, at.Weekday()), on(w, (at.Weekday()+6)%7)
		switch {
		case w.From < w.To && today && w.From <= minute && minute < w.To:
			return true
		case w.From >= w.To && (today && minute >= w.From || yesterday && minute < w.To):
			return true
		}
	}
	return false
}

// checkUntil holds the answer against what the clock shows: never quiet, the first
// such moment, and none earlier for a later question.
func checkUntil(t *testing.T, q *QuietHours, at time.Time, later time.Duration) {
	t.Helper()
	zone, err := time.LoadLocation(q.TimeZone)
	if err != nil {
		t.Fatal(err)
	}
	at = at.In(zone)
	end, quiet := q.Until(at)
	where := fmt.Sprintf("%+v at %v: quiet %v until %v", *q, at, quiet, end)
	if quiet != isQuiet(q, at) {
		t.Fatalf("%s: the clock says otherwise", where)
	}
	if !quiet {
		if end != at {
			t.Fatal(where)
		}
		return
	}
	if !end.After(at) || isQuiet(q, end) {
		t.Fatalf("%s, which is quiet or past", where)
	}
	for m := end.Add(-1); m.After(at); m = m.Add(-time.Minute) {
		if !isQuiet(q, m) {
			t.Fatalf("%s, but %v is not quiet", where, m)
		}
	}
	if next, _ := q.Until(at.Add(later)); next.Before(end) {
		t.Fatalf("%s; %v later it is over at %v", where, later, next)
	}
}

// changes are days on which the clocks of a zone go forward or back: by an hour, by
// half an hour, by a day, by seconds, at midnight.
var changes = map[string][]string{
	"UTC":                 {"2026-03-29"},
	"Europe/Berlin":       {"2026-03-29", "2026-10-25", "1945-05-24"},
	"America/New_York":    {"2026-03-08", "2026-11-01"},
	"America/Sao_Paulo":   {"2018-11-04", "2019-02-17"},
	"Australia/Lord_Howe": {"2026-04-05", "2026-10-04"},
	"Pacific/Apia":        {"2011-12-30"},
	"Pacific/Kwajalein":   {"1993-08-21"},
	"Africa/Monrovia":     {"1972-01-07"},
	"Africa/Casablanca":   {"2026-02-15", "2026-03-22"},
	"Asia/Kathmandu":      {"1986-01-01"},
}

func TestQuietHoursEndAsSoonAsTheClockSays(t *testing.T) {
	t.Parallel()
	for name, days := range changes {
		for _, day := range days {
			t.Run(name+" "+day, func(t *testing.T) {
				t.Parallel()
				noon := moment(t, day+"T12:00:00Z")
				random := rand.New(rand.NewPCG(uint64(noon.Unix()), uint64(len(name))))
				for range 300 {
					at := noon.Add(time.Duration(random.Int64N(int64(96*time.Hour))) - 48*time.Hour)
					if random.IntN(2) == 0 {
						at = at.Truncate(15 * time.Minute)
					}
					q := &QuietHours{TimeZone: name, Windows: randomWindows(random)}
					if q.week().whole() {
						continue
					}
					checkUntil(t, q, at, time.Duration(random.Int64N(int64(30*time.Hour))))
				}
			})
		}
	}
}

func randomWindows(random *rand.Rand) []Window {
	var windows []Window
	for range 1 + random.IntN(4) {
		w := Window{From: random.IntN(96) * 15, To: 15 + random.IntN(96)*15}
		for day := range time.Weekday(7) {
			if random.IntN(2) == 0 {
				w.Days = append(w.Days, day)
			}
		}
		windows = append(windows, w)
	}
	return windows
}

func FuzzQuietHours(f *testing.F) {
	f.Add("Europe/Berlin", int64(1774746000), uint8(0x7f), 1320, 150, uint8(1), 480, 1440, uint16(90))
	f.Add("Pacific/Apia", int64(1325152800), uint8(0x10), 0, 1440, uint8(0x40), 0, 0, uint16(3000))
	f.Add("Africa/Monrovia", int64(63593070), uint8(0), 1, 0, uint8(0), 5, 4, uint16(1))
	f.Fuzz(func(t *testing.T, zone string, at int64, days1 uint8, from1, to1 int, days2 uint8, from2, to2 int, later uint16) {
		if _, ok := lookUp(zone); !ok || at < -5e9 || at > 2e10 {
			return
		}
		window := func(days uint8, from, to int) Window {
			w := Window{From: int(uint(from) % minutesOfDay), To: 1 + int(uint(to)%minutesOfDay)}
			for day := range time.Weekday(7) {
				if days&(1<<day) != 0 {
					w.Days = append(w.Days, day)
				}
			}
			return w
		}
		q := &QuietHours{TimeZone: zone, Windows: []Window{window(days1, from1, to1), window(days2, from2, to2)}}
		if q.week().whole() {
			return
		}
		checkUntil(t, q, time.Unix(at, 0), time.Duration(later)*time.Minute)
	})
}
