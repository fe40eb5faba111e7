package clock_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/clock"
)

const day = 24 * time.Hour

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestMoving(t *testing.T) {
	t.Parallel()
	c := clock.New(func() time.Time { return noon })
	if !c.Now().Equal(noon) || c.Offset() != 0 {
		t.Fatalf("it begins at %s, %s ahead", c.Now(), c.Offset())
	}
	moved := c.Moved()
	if err := c.Advance(5 * day); err != nil {
		t.Fatal(err)
	}
	select {
	case <-moved:
	default:
		t.Error("those who wait are not told")
	}
	// Fractions of a second are rounded up: the clock is never before the requested time.
	if err := c.To(noon.Add(6*day + time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if want := 6*day + time.Second; c.Offset() != want || !c.Now().Equal(noon.Add(want)) {
		t.Errorf("it is %s ahead at %s", c.Offset(), c.Now())
	}
	if r := c.Reading(); r.OffsetSeconds != 6*86400+1 || !r.Now.Equal(c.Now()) {
		t.Errorf("it reads %+v", r)
	}
}

func TestMovesThatAreRefused(t *testing.T) {
	t.Parallel()
	c := clock.New(func() time.Time { return noon })
	if err := c.Advance(day); err != nil {
		t.Fatal(err)
	}
	moved := c.Moved()
	for want, r := range map[string]clock.Request{
		"give advance, such as 5d":            {},
		"not both":                            {Advance: "1d", To: "2027-01-01T00:00:00Z"},
		"advance: duration \"5\" has no unit": {Advance: "5"},
		"advance: duration \"-5d\"":           {Advance: "-5d"},
		"not by 0s":                           {Advance: "0s"},
		"at most 3650 days":                   {Advance: "3650d"},
		"3650 days ahead of":                  {To: "9999-01-01T00:00:00Z"},
		"is not a time with a zone":           {To: "2026-03-06T09:00:00"},
		"only moves forward: it is already 2026-03-02T12:00:00Z": {To: "2026-03-02T12:00:00Z"},
		"not before 2026-03-02T11:00:00Z":                        {To: "2026-03-02T12:00:00+01:00"},
	} {
		m, err := r.Parse()
		if err == nil {
			err = m.Check(c)
			if again := m.Apply(c); again == nil || err == nil || again.Error() != err.Error() {
				t.Errorf("%+v is checked as %v and made as %v", r, err, again)
			}
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", r, err, want)
		}
	}
	select {
	case <-moved:
		t.Error("a move that was refused is told")
	default:
	}
	if c.Offset() != day {
		t.Errorf("it is %s ahead", c.Offset())
	}
}

func TestAnotherRunGoesOnAtTheSameTime(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "clock.json")
	c := testenv.Must(clock.Open(file))(t)
	for _, d := range []time.Duration{day, 90 * time.Minute} {
		if err := c.Advance(d); err != nil {
			t.Fatal(err)
		}
	}
	again, err := clock.Open(file)
	if err != nil || again.Offset() != day+90*time.Minute {
		t.Fatalf("it goes on %s ahead: %v", again.Offset(), err)
	}
	if ahead := time.Until(again.Now()); ahead < day || ahead > again.Offset() {
		t.Errorf("it is %s ahead of the real time", ahead)
	}
}

func TestWhatCannotBeKeptIsNotMoved(t *testing.T) {
	t.Parallel()
	c := testenv.Must(clock.Open(filepath.Join(t.TempDir(), "no such folder", "clock.json")))(t)
	if err := c.Advance(day); err == nil || !strings.Contains(err.Error(), "save the clock offset") || c.Offset() != 0 {
		t.Errorf("moved by %s: %v", c.Offset(), err)
	}
}

func TestFollowingAnotherProcess(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "clock.json")
	leader := testenv.Must(clock.Open(file))(t)
	follower := testenv.Must(clock.Open(file))(t)
	stop := follower.Follow(slog.New(slog.NewTextHandler(t.Output(), nil)))
	defer stop()
	for _, want := range []time.Duration{day, 3 * day} {
		moved := follower.Moved()
		if err := leader.Advance(want - leader.Offset()); err != nil {
			t.Fatal(err)
		}
		<-moved
		if follower.Offset() != want {
			t.Errorf("the follower is %s ahead, want %s", follower.Offset(), want)
		}
	}
}

func TestBrokenFileIsRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"{", `{"offsetSeconds":-1}`, `{"offsetSeconds":"5d"}`, `{"offsetSeconds":999999999999}`} {
		file := filepath.Join(t.TempDir(), "clock.json")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := clock.Open(file); err == nil || !strings.Contains(err.Error(), "the clock offset") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestManyMoveItAtOnce(t *testing.T) {
	t.Parallel()
	c := testenv.Must(clock.Open(filepath.Join(t.TempDir(), "clock.json")))(t)
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			if err := c.Advance(time.Hour); err != nil {
				t.Error(err)
			}
			c.Now()
		})
	}
	group.Wait()
	if c.Offset() != 20*time.Hour {
		t.Errorf("it is %s ahead", c.Offset())
	}
}
