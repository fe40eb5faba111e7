package simulate

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/matoolkit/matoolkit/internal/signature"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/worker/catalog"
)

// scenario reads a folder of testdata; an example's files are where the example is.
func scenario(t *testing.T, name string) Config {
	t.Helper()
	dir, list := filepath.Join("testdata", name), "members.csv"
	if _, err := os.Stat(filepath.Join(dir, "runbook.yaml")); errors.Is(err, fs.ErrNotExist) {
		dir = filepath.Join("..", "..", "examples", name)
		if name == "scheduled-migration" {
			list = "people.csv"
		}
	}
	args := strings.Fields(string(read(t, filepath.Join("testdata", name, "args"))))
	var functions []signature.Function
	if strings.HasPrefix(dir, "testdata") {
		if err := json.Unmarshal(read(t, filepath.Join("testdata", "functions.json")), &functions); err != nil {
			t.Fatal(err)
		}
	} else {
		functions = catalog.Signatures(catalog.Standard())
	}
	c := Config{Functions: functions, Runbook: read(t, filepath.Join(dir, "runbook.yaml")), Members: filepath.Join(dir, list), All: true}
	loc := time.UTC
	if i := slices.Index(args, "--time-zone"); i >= 0 {
		var err error
		if loc, err = time.LoadLocation(args[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if c.Start, err = ParseTime(args[slices.Index(args, "--start")+1], loc); err != nil {
		t.Fatal(err)
	}
	if src, err := os.ReadFile(filepath.Join(dir, "answers.yaml")); err == nil {
		if c.Answers, err = ParseAnswers(src, loc); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	return testenv.Must(os.ReadFile(file))(t)
}

func played(t *testing.T, c Config) (*Timeline, []byte) {
	t.Helper()
	timeline := testenv.Must(Run(t.Context(), c))(t)
	text := testenv.Must(json.MarshalIndent(timeline, "", " "))(t)
	return timeline, text
}

func scenarios(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join("testdata", "*", "args"))
	if err != nil || len(all) < 10 {
		t.Fatalf("%d scenarios, %v", len(all), err)
	}
	for i := range all {
		all[i] = filepath.Base(filepath.Dir(all[i]))
	}
	return all
}

// The ticks that are left out would have done nothing: with every single one the same
// happens at the same time, to the last job. And what comes out is the same each time.
func TestNothingIsMissedBetweenTicks(t *testing.T) {
	t.Parallel()
	for _, name := range scenarios(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := scenario(t, name)
			switch name { // weeks would be many ticks
			case "scheduled-migration":
				c.Start = time.Date(2030, 3, 9, 12, 0, 0, 0, time.UTC)
				c.Until = c.Start.Add(60 * time.Hour)
			case "user-migration":
				c.Until = c.Start.Add(-4 * 24 * time.Hour)
			}
			few, first := played(t, c)
			_, again := played(t, c)
			if !bytes.Equal(first, again) {
				t.Errorf("the second time it is\n%s\nthe first time it was\n%s", again, first)
			}
			c.everyTick = true
			all, _ := played(t, c)
			few.End, all.End = time.Time{}, time.Time{} // the last tick, which found nothing, is not the same
			fewer, every := encoded(t, few), encoded(t, all)
			if !bytes.Equal(fewer, every) {
				t.Errorf("with every tick it is\n%s\nwithout\n%s", every, fewer)
			}
		})
	}
}

func encoded(t *testing.T, v any) []byte {
	t.Helper()
	return testenv.Must(json.MarshalIndent(v, "", " "))(t)
}

// The summary's counts agree with the events and the jobs.
func TestTheSumsAgree(t *testing.T) {
	t.Parallel()
	for _, name := range scenarios(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			timeline, _ := played(t, scenario(t, name))
			told := map[Kind]int{}
			for i, e := range timeline.Events {
				told[e.Kind] += max(1, len(e.Members))
				if i > 0 && e.At.Before(timeline.Events[i-1].At) {
					t.Errorf("%+v comes after %+v", e, timeline.Events[i-1])
				}
			}
			jobs, failed, removed := 0, 0, 0
			for _, f := range timeline.Functions {
				jobs += f.Jobs
			}
			for _, b := range timeline.Batches {
				failed, removed = failed+len(b.Failed), removed+len(b.Removed)
				if n := b.Succeeded + len(b.Failed) + len(b.Removed) + b.Open; n != b.Members {
					t.Errorf("batch %d has %d members and tells of %d", b.ID, b.Members, n)
				}
			}
			if told[KindJob] != jobs || told[KindFailed] != failed || told[KindRemoved] != removed {
				t.Errorf("jobs %d, failed %d, removed %d; told %v", jobs, failed, removed, told)
			}
			if timeline.Complete != (len(timeline.Remaining) == 0 && failed == 0 && name != "leavers") {
				t.Errorf("complete is %v; %d failed, %v remain", timeline.Complete, failed, timeline.Remaining)
			}
		})
	}
}

func TestUnknownPeopleAreReported(t *testing.T) {
	t.Parallel()
	c := scenario(t, "held")
	c.All, c.Step = false, []string{"eva@x.org", "nobody@x.org"}
	timeline, _ := played(t, c)
	if !slices.Equal(timeline.Warnings, []string{`no member of a batch has the key "nobody@x.org"`}) {
		t.Errorf("got %q", timeline.Warnings)
	}
}

func TestBrokenOff(t *testing.T) {
	t.Parallel()
	c := scenario(t, "user-migration")
	c.Until = c.Start.Add(-36 * time.Hour)
	timeline, _ := played(t, c)
	last := timeline.Events[len(timeline.Events)-1]
	if timeline.Complete || last.Kind != KindBrokenOff || !last.At.Equal(c.Until) || len(timeline.Remaining) != 2 {
		t.Errorf("it ends with %+v, and %q remain", last, timeline.Remaining)
	}
	c.Until = c.Start.Add(-30 * 24 * time.Hour)
	if _, err := Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), "give an end after that") {
		t.Errorf("got %v", err)
	}
}

func TestProblemsAreReportedWithTheirPlace(t *testing.T) {
	t.Parallel()
	good := scenario(t, "held")
	bad := filepath.Join(t.TempDir(), "bad.csv")
	if err := os.WriteFile(bad, []byte("Mail\neva@x.org\n\neva@x.org\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*Config){
		"2:1: error: phaces":      func(c *Config) { c.Runbook = []byte("name: x\nphaces: []\n") },
		"4:1: error: column Mail": func(c *Config) { c.Members = bad },
		"no such file":            func(c *Config) { c.Members = "nowhere.csv" },
		`no row has the key "x"`:  func(c *Config) { c.Answers = &Answers{Members: []Coming{{Member: "x", Joins: &Moment{}}}} },
	} {
		c := good
		change(&c)
		if _, err := Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	followed := scenario(t, "leavers")
	followed.Members = "nowhere.csv"
	if _, err := Run(t.Context(), followed); err == nil || !strings.Contains(err.Error(), "nowhere.csv") {
		t.Errorf("got %v", err)
	}
}

// With immediate batches the list stands for people who are ready: whose batch has ended
// is done, and makes no other.
func TestImmediateBatchesEnd(t *testing.T) {
	t.Parallel()
	c := scenario(t, "leavers")
	text := strings.Replace(string(c.Runbook), "batch_time_column: Moves\n  time_zone: Europe/Berlin", "batch_time: immediate", 1)
	c.Runbook = []byte(strings.Replace(text, "offset: T-1d", "offset: T+1d", 1))
	c.Answers = &Answers{Members: []Coming{{Member: "lea@x.org", Joins: &Moment{time: c.Start.Add(96 * time.Hour)}}}}
	timeline, _ := played(t, c)
	if len(timeline.Batches) != 2 || !timeline.Complete || timeline.Batches[0].Succeeded != 4 || timeline.Batches[1].Succeeded != 1 {
		t.Errorf("got %+v", timeline.Batches)
	}
}

// The administrator of a simulation confirms the additions of the first batches.
func TestFirstAdditionsAreConfirmedInASimulation(t *testing.T) {
	t.Parallel()
	c := scenario(t, "leavers")
	c.Runbook = []byte(strings.Replace(string(c.Runbook), "removal_guard:", "addition_guard: {number: 1}\n  removal_guard:", 1))
	timeline, _ := played(t, c)
	var held []string
	for _, e := range timeline.Events {
		if e.Kind == KindAdditionsHeld {
			held = append(held, e.Text)
		}
	}
	if len(held) != 1 || held[0] != "the administrator confirms the addition of 2 people" || len(timeline.Batches) != 1 || timeline.Batches[0].Succeeded != 2 {
		t.Errorf("%q %+v", held, timeline.Batches)
	}
}

// A member of a batch that is made by hand joins and leaves by what the administrator
// does.
func TestJoiningAndLeavingByHand(t *testing.T) {
	t.Parallel()
	timeline, _ := played(t, scenario(t, "late"))
	b := timeline.Batches[0]
	if len(timeline.Batches) != 1 || b.Members != 3 || b.Succeeded != 2 || !slices.Equal(b.Removed, []string{"kim@x.org"}) {
		t.Errorf("got %+v", b)
	}
}
