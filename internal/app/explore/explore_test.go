package explore

import (
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"testing"
	"time"
)

// TestMain makes garbage collections rarer: most allocations of a search are short-lived.
func TestMain(m *testing.M) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(200)
	}
	os.Exit(m.Run())
}

var (
	only = flag.String("explore.system", "", "explore only the system of this name")
	most = flag.Int("explore.states", 6000, "visit at most so many states of a system; 0 is all")
	soak = flag.Duration("explore.soak", -1, "for how long TestSoak goes on; 0 is until all states are visited")
)

// TestExplore visits the states of the small systems, the near ones first.
func TestExplore(t *testing.T) {
	t.Parallel()
	for _, s := range systems {
		if *only != "" && s.name != *only || *only == "" && s.soak {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			r := search(t, s, limits{states: *most})
			t.Log(r)
			if r.violation != "" {
				t.Error(r.violation)
			}
		})
	}
}

// TestSoak visits the states of all systems, one after the other, and of those that are large
// as many as its time allows.
func TestSoak(t *testing.T) {
	if *soak < 0 {
		return
	}
	end := time.Now().Add(*soak)
	for i, s := range systems {
		l := limits{}
		if *soak > 0 {
			l.time = max(time.Until(end)/time.Duration(len(systems)-i), 1) // 0 is no limit
		}
		r := search(t, s, l)
		fmt.Printf("explore: %s\n", r)
		if r.violation != "" {
			t.Errorf("%s\n%s", r, r.violation)
		}
	}
}
