package explore

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// limits are how far a search goes.
type limits struct {
	states int           // at most; 0: all
	time   time.Duration // at most; 0: any
}

// result is the result of a search.
type result struct {
	system              string
	states, transitions int64
	depth               int  // of the last level that was begun
	complete            bool // every state was visited
	took                time.Duration
	violation           string // the story of the shortest way to a state in which something is not as it must be; empty: there is none
	actions             int    // of that way
}

func (r *result) String() string {
	text := fmt.Sprintf("%s: %d states, %d transitions, %d actions deep, in %s", r.system, r.states, r.transitions, r.depth, r.took.Round(time.Millisecond))
	if !r.complete {
		text += " (not all of its states)"
	}
	return text
}

// visited is how a state was first reached.
type visited struct {
	from   int32 // the place of the state before; -1 for the first one
	action action
}

// reached is a state that was first reached on a level.
type reached struct {
	visited
	world *world
	place int32
}

// search visits every state of a system in the order of how many actions lead there, so that
// the way to a violation is as short as possible.
func search(t *testing.T, s *system, l limits) *result {
	began := time.Now()
	r := &result{system: s.name, complete: true}
	var first *world
	var err error
	synctest.Test(t, func(*testing.T) { first, err = newWorld(s) })
	if err != nil {
		r.violation = err.Error()
		return r
	}
	seen := &set{}
	seen.add(first.identity())
	all := []visited{{from: -1}}
	level := []reached{{visited: all[0], world: first}}
	r.states = 1
	for ; len(level) > 0; r.depth++ {
		var next []reached
		var mu sync.Mutex
		var at, transitions, states atomic.Int64
		var broken *reached
		var workers sync.WaitGroup
		over := func() bool {
			return l.time > 0 && time.Since(began) > l.time || l.states > 0 && r.states+states.Load() > int64(l.states)
		}
		for range searchers {
			workers.Go(func() {
				synctest.Test(t, func(*testing.T) {
					for {
						i := int(at.Add(1)) - 1
						if i >= len(level) || over() {
							return
						}
						from := level[i]
						level[i].world = nil
						if from.world == nil {
							w, err := rebuild(s, way(all, from.place))
							if err != nil {
								panic(err) // it was begun before
							}
							from.world = w
						}
						var found []reached
						from.world.expand(func(a action, w *world) {
							transitions.Add(1)
							fresh := seen.add(w.identity())
							if fresh {
								states.Add(1)
								w.check()
							}
							if len(w.problems) > 0 {
								mu.Lock()
								if broken == nil {
									broken = &reached{visited{from.place, a}, w, 0}
								}
								mu.Unlock()
								return
							}
							if fresh {
								found = append(found, reached{visited: visited{from.place, a}, world: w})
							}
						})
						mu.Lock()
						for _, f := range found {
							if len(next) >= mostWorlds {
								f.world = nil
							}
							next = append(next, f)
						}
						mu.Unlock()
					}
				})
			})
		}
		workers.Wait()
		r.states += states.Load()
		r.transitions += transitions.Load()
		if broken != nil {
			r.complete = false
			r.took = time.Since(began)
			r.violation, r.actions = story(t, s, all, broken)
			return r
		}
		if over() {
			r.complete = false
			break
		}
		for i := range next {
			next[i].place = int32(len(all))
			all = append(all, next[i].visited)
		}
		level = next
	}
	r.took = time.Since(began)
	return r
}

// mostWorlds is how many states of a level are kept in memory. Others are rebuilt from the
// actions that lead to them when their turn comes.
const mostWorlds = 10_000

// searchers is how many states are expanded at the same time.
const searchers = 2

// way returns the actions that lead to a state.
func way(all []visited, place int32) (path []action) {
	for ; all[place].from >= 0; place = all[place].from {
		path = append(path, all[place].action)
	}
	slices.Reverse(path)
	return path
}

// rebuild makes the state that actions lead to.
func rebuild(s *system, path []action) (*world, error) {
	w, err := newWorld(s)
	for _, a := range path {
		w.do(a)
	}
	return w, err
}

// story describes the path to a state and the rule that the state breaks.
func story(t *testing.T, s *system, all []visited, to *reached) (text string, actions int) {
	path := append(way(all, to.from), to.action)
	synctest.Test(t, func(*testing.T) {
		w, err := newWorld(s)
		if err != nil {
			text = err.Error()
			return
		}
		for i, a := range path {
			w = w.clone()
			w.verbose = true
			w.do(a)
			text += fmt.Sprintf("%3d. %s\n", i+1, strings.Join(w.story, "\n       "))
		}
		w.check()
		for _, p := range to.world.problems {
			text += "     PROBLEM: " + p + "\n"
		}
	})
	return text, len(path)
}

// set is a set of identities that is safe for concurrent use.
type set struct {
	parts [64]struct {
		mu  sync.Mutex
		all map[identity]struct{}
	}
}

// add adds an identity, and reports whether it is new.
func (s *set) add(id identity) bool {
	p := &s.parts[id[0]%uint64(len(s.parts))]
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.all[id]; ok {
		return false
	}
	if p.all == nil {
		p.all = map[identity]struct{}{}
	}
	p.all[id] = struct{}{}
	return true
}
