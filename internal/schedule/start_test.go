package schedule_test

import (
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/schedule"
)

// startOf reads one batch time through a whole result: the start in RFC 3339, or the
// problem.
func startOf(t testing.TB, zone string, value any) string {
	t.Helper()
	return startIn(t, parse(t, scheduled+"\ntime_zone: "+zone), value)
}

func startIn(t testing.TB, rb *runbook.Runbook, value any) string {
	t.Helper()
	r := answer(t, rb, []any{"a", "", "", value})
	for row := range r.Rows() {
		if row.Start.Location() != time.UTC {
			t.Errorf("%v: the start is in %s", value, row.Start.Location())
		}
		return row.Start.Format(time.RFC3339Nano)
	}
	problems, _ := r.Problems()
	return strings.TrimSuffix(strings.TrimPrefix(problems[0].Message, "column Start: "), "; "+expected)
}

func TestBatchTimes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ zone, text, want string }{
		// With a zone of its own.
		{"Europe/Berlin", "2026-03-01T18:00:00Z", "2026-03-01T18:00:00Z"},
		{"Europe/Berlin", "2026-03-01t18:00:00z", "2026-03-01T18:00:00Z"},
		{"Europe/Berlin", "2026-03-01T18:00:00-05:30", "2026-03-01T23:30:00Z"},
		{"Europe/Berlin", "2026-03-01 18:00:00 +01:00", `"2026-03-01 18:00:00 +01:00" is not a time`},
		{"Europe/Berlin", "2026-03-01 18:00+01:00", "2026-03-01T17:00:00Z"},
		{"Europe/Berlin", "2026-03-01T18:00:00.1234567Z", "2026-03-01T18:00:00.1234567Z"},
		{"UTC", "2026-03-01T00:00:00+14:00", "2026-02-28T10:00:00Z"},
		// Without.
		{"UTC", "2026-03-01", "2026-03-01T00:00:00Z"},
		{"UTC", " 2026-03-01 ", "2026-03-01T00:00:00Z"},
		{"UTC", "2026-03-01 18:00", "2026-03-01T18:00:00Z"},
		{"Europe/Berlin", "2026-03-01", "2026-02-28T23:00:00Z"},
		{"Europe/Berlin", "2026-03-01 18:00", "2026-03-01T17:00:00Z"},
		{"Europe/Berlin", "2026-03-01T18:00:30", "2026-03-01T17:00:30Z"},
		{"Europe/Berlin", "2026-07-01 18:00:00.5", "2026-07-01T16:00:00.5Z"},
		{"America/New_York", "2026-03-01 18:00", "2026-03-01T23:00:00Z"},
		{"Asia/Kathmandu", "2026-03-01 18:00", "2026-03-01T12:15:00Z"},
		// Where clocks are put forward: 02:00 to 03:00 is not there.
		{"Europe/Berlin", "2026-03-29 01:59:59.999", "2026-03-29T00:59:59.999Z"},
		{"Europe/Berlin", "2026-03-29 02:00", `"2026-03-29 02:00" does not exist in Europe/Berlin: the clocks are set forward past it`},
		{"Europe/Berlin", "2026-03-29 02:59:59", `"2026-03-29 02:59:59" does not exist in Europe/Berlin: the clocks are set forward past it`},
		{"Europe/Berlin", "2026-03-29 03:00", "2026-03-29T01:00:00Z"},
		{"Europe/Berlin", "2026-03-29 02:30+02:00", "2026-03-29T00:30:00Z"},
		// Where they are put back: 02:00 to 03:00 is there twice.
		{"Europe/Berlin", "2026-10-25 01:59:59", "2026-10-24T23:59:59Z"},
		{"Europe/Berlin", "2026-10-25 02:00", `"2026-10-25 02:00" occurs twice in Europe/Berlin, when the clocks are set back; add its UTC offset`},
		{"Europe/Berlin", "2026-10-25 02:59:59", `"2026-10-25 02:59:59" occurs twice in Europe/Berlin, when the clocks are set back; add its UTC offset`},
		{"Europe/Berlin", "2026-10-25 03:00", "2026-10-25T02:00:00Z"},
		{"Europe/Berlin", "2026-10-25 02:30+01:00", "2026-10-25T01:30:00Z"},
		{"UTC", "2026-10-25 02:30", "2026-10-25T02:30:00Z"},
		{"America/New_York", "2026-11-01 01:30", `"2026-11-01 01:30" occurs twice in America/New_York, when the clocks are set back; add its UTC offset`},
		// For good: only one of the neighbouring offsets tells.
		{"Europe/Moscow", "2014-10-26 01:30", `"2014-10-26 01:30" occurs twice in Europe/Moscow, when the clocks are set back; add its UTC offset`},
		{"America/Cambridge_Bay", "2000-11-04 23:30", `"2000-11-04 23:30" occurs twice in America/Cambridge_Bay, when the clocks are set back; add its UTC offset`},
		// Half an hour, a midnight that is not there, a day that was not there.
		{"Australia/Lord_Howe", "2026-10-04 02:15", `"2026-10-04 02:15" does not exist in Australia/Lord_Howe: the clocks are set forward past it`},
		{"Australia/Lord_Howe", "2026-04-05 01:45", `"2026-04-05 01:45" occurs twice in Australia/Lord_Howe, when the clocks are set back; add its UTC offset`},
		{"Africa/Cairo", "2026-04-24", `"2026-04-24" does not exist in Africa/Cairo: the clocks are set forward past it`},
		{"Pacific/Apia", "2011-12-30 12:00", `"2011-12-30 12:00" does not exist in Pacific/Apia: the clocks are set forward past it`},
		// What databases keep for no time.
		{"UTC", "0001-01-01T00:00:00", `"0001-01-01T00:00:00" is outside the years 2000 to 2199`},
		{"UTC", "1999-12-31T23:59:59Z", `"1999-12-31T23:59:59Z" is outside the years 2000 to 2199`},
		{"UTC", "9999-12-31", `"9999-12-31" is outside the years 2000 to 2199`},
		{"UTC", "2199-12-31T23:00:00-02:00", `"2199-12-31T23:00:00-02:00" is outside the years 2000 to 2199`},
		{"UTC", "2000-01-01", "2000-01-01T00:00:00Z"},
		{"UTC", "2199-12-31", "2199-12-31T00:00:00Z"},
		// Invalid times.
		{"UTC", "2026-02-29", `"2026-02-29" has a day or hour that does not exist`},
		{"UTC", "2026-03-01T24:00", `"2026-03-01T24:00" has a day or hour that does not exist`},
		{"UTC", "2026-03-01T23:59:60Z", `"2026-03-01T23:59:60Z" has a day or hour that does not exist`},
		{"UTC", "2026-03-01Z", `"2026-03-01Z" is not a time`},
		{"UTC", "2026-3-1", `"2026-3-1" is not a time`},
		{"UTC", "2026-03-01T18:00:00,5", `"2026-03-01T18:00:00,5" is not a time`},
		{"UTC", "2026-03-01T18:00:00.", `"2026-03-01T18:00:00." is not a time`},
		{"UTC", "2026-03-01T18:00:00+24:00", `"2026-03-01T18:00:00+24:00" is not a time`},
		{"UTC", "2026-03-01T18", `"2026-03-01T18" is not a time`},
		{"UTC", "20260301", `"20260301" is not a time`},
		{"UTC", "01/03/2026", `"01/03/2026" is not a time`},
		{"UTC", "1772384400", `"1772384400" is not a time`},
		{"UTC", "2026-03-01\n", "2026-03-01T00:00:00Z"},
		{"UTC", strings.Repeat("ä", 60), `"` + strings.Repeat("ä", 60) + `" is not a time`},
		{"UTC", strings.Repeat("x", 100), `"` + strings.Repeat("x", 60) + `…" is not a time`},
	} {
		t.Run(c.zone+" "+c.text[:min(len(c.text), 40)], func(t *testing.T) {
			t.Parallel()
			if got := startOf(t, c.zone, c.text); got != c.want {
				t.Errorf("got %s\nand not %s", got, c.want)
			}
		})
	}
}

func TestImmediateStart(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ now, want string }{
		{"12:00:00", "12:00:00"}, {"12:02:29", "12:00:00"}, {"12:02:30", "12:05:00"}, {"12:04:59", "12:05:00"}, {"23:58:00", "00:00:00"},
	} {
		at, err := time.ParseInLocation("2006-01-02 15:04:05", "2026-01-15 "+c.now, berlin)
		if err != nil {
			t.Fatal(err)
		}
		got := schedule.ImmediateStart(at)
		if got.Location() != time.UTC || got.In(berlin).Format(time.TimeOnly) != c.want {
			t.Errorf("%s: %s", c.now, got)
		}
	}
}

// FuzzBatchTime compares with local clocks: a clock in the zone shows the written
// time at the parsed moment and at no other.
func FuzzBatchTime(f *testing.F) {
	runbooks := map[string]*runbook.Runbook{}
	for _, zone := range zones {
		runbooks[zone] = parse(f, scheduled+"\ntime_zone: "+zone)
	}
	for _, seed := range []string{
		"2026-03-01T18:00:00Z", "2026-03-29 02:30", "2026-10-25 02:30:00", "2026-03-01", "2026-04-05 01:45", "2011-12-30", "2014-10-26 01:30", "2000-11-04 23:30", "x", "2026-10-25T02:30+01:00",
	} {
		for i := range zones {
			f.Add(seed, i)
		}
	}
	f.Fuzz(func(t *testing.T, text string, n int) {
		name := zones[((n%len(zones))+len(zones))%len(zones)]
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := time.Parse(time.RFC3339Nano, startIn(t, runbooks[name], text))
		written := strings.ToUpper(strings.Replace(strings.TrimSpace(text), " ", "T", 1))
		var wall time.Time
		local := false
		for _, layout := range []string{"2006-01-02", "2006-01-02T15:04", "2006-01-02T15:04:05"} {
			if at, err := time.Parse(layout, written); err == nil {
				wall, local = at, true
			}
		}
		if err != nil {
			if local && wall.Year() >= 2001 && wall.Year() < 2199 && !strings.Contains(written, ",") && len(showing(wall, zone)) == 1 && plainForm(written) {
				t.Errorf("%q in %s is refused", text, name)
			}
			return
		}
		if !local {
			for _, layout := range []string{"2006-01-02T15:04Z07:00", "2006-01-02T15:04:05Z07:00"} {
				if at, err := time.Parse(layout, written); err == nil {
					if !at.Equal(got) {
						t.Errorf("%q is read as %s", text, got)
					}
					return
				}
			}
			t.Errorf("%q is read as %s, and is no time", text, got)
			return
		}
		if all := showing(wall, zone); len(all) != 1 || !all[0].Equal(got) {
			t.Errorf("%q in %s is read as %s, and clocks show it at %v", text, name, got, all)
		}
	})
}

var zones = []string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "Asia/Kathmandu", "America/Sao_Paulo", "Africa/Casablanca", "Europe/Moscow", "America/Cambridge_Bay"}

func plainForm(s string) bool { return len(s) == 10 || len(s) == 16 || len(s) == 19 }

// showing tries every quarter of an hour of offset for the moments at which clocks in a
// zone show wall.
func showing(wall time.Time, zone *time.Location) []time.Time {
	var all []time.Time
	for offset := -15 * time.Hour; offset <= 15*time.Hour; offset += 15 * time.Minute {
		at := wall.Add(-offset)
		if _, seconds := at.In(zone).Zone(); time.Duration(seconds)*time.Second == offset {
			all = append(all, at)
		}
	}
	return all
}
