package e2e_test

import (
	"errors"
	"hash/fnv"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
)

// phases are those of the example, init first, with how many times the victim is
// killed in each and how many members go through it.
var phases = []struct {
	name    string
	kills   int
	members int
}{{"init", 1, 1}, {"pre-stage", 2, 25}, {"verify", 1, 24}, {"cut-over", 2, 24}}

// separate are the parts as processes of their own.
var separate = []string{"servicebus", "cosmos", "identity", "host"}

// TestKilledAtAnyMoment kills a process with kill -9 in every phase of the batch and
// starts it again. The batch ends as if nothing had happened.
func TestKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		victim string
		parts  []string
	}{
		{"handler", separate},
		{workerProcess, separate},
		{"servicebus", separate},
		{"cosmos", separate},
		{"host", separate},
		{everything, []string{everything}},
	} {
		t.Run(tc.victim, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, tc.parts...)
			a := newAdmin(m)
			name := fnv.New64()
			_, _ = name.Write([]byte(tc.victim))
			random := rand.New(rand.NewPCG(*seed, name.Sum64()))
			for _, phase := range phases {
				killed := make(chan error, 1)
				go func() { killed <- killIn(m, a, tc.victim, phase.name, moments(random, phase.kills, phase.members)) }()
				err := a.advance()
				if err == nil {
					err = a.await(phase.name, ended)
				}
				if err := errors.Join(err, <-killed); err != nil {
					t.Fatal(err)
				}
			}
			checkOutcome(m, a)
		})
	}
}

// moment is when something is killed: a little after so many members are through.
// Where it is down for a second, what works with it meets a closed port as well as
// a broken connection.
type moment struct {
	members int
	after   time.Duration
	down    time.Duration // until it is started again
}

// moments are in the order they come in. The first one of a phase comes while it is
// being set going as often as not.
func moments(random *rand.Rand, n, members int) []moment {
	var all []moment
	least := 0
	for range n {
		m := moment{
			members: least,
			after:   time.Duration(random.IntN(100)) * time.Millisecond,
			down:    time.Duration(random.IntN(1000)) * time.Millisecond,
		}
		if len(all) > 0 || random.IntN(2) == 1 {
			m.members = least + random.IntN(max(1, members-least))
		}
		least = m.members + 1
		all = append(all, m)
	}
	return all
}

func killIn(m *machine, a *admin, victim, phase string, moments []moment) error {
	for _, at := range moments {
		through := 0
		err := a.await(phase, func(p api.Phase) bool {
			through = p.Succeeded + p.Failed
			return at.members == 0 || through >= at.members || ended(p)
		})
		if err != nil {
			return err
		}
		time.Sleep(at.after) // the fault's own moment, not a wait for anything
		if err := m.kill(victim, at.down); err != nil {
			return err
		}
		m.t.Logf("%s: killed %s in %s, %s after %d were through, for %s", time.Since(m.began).Round(time.Millisecond), victim, phase, at.after, through, at.down)
	}
	return nil
}
