package app_test

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/problem"
)

// ending is the end state of a batch.
type ending struct {
	Status  string              `json:"status"`
	Error   string              `json:"error,omitempty"`
	Phases  []string            `json:"phases"`
	Members map[string]string   `json:"members"`
	Steps   map[string][]string `json:"steps"` // by member; those of the batch have no name
}

// carryOn plays the callers and administrators after the upgrade until all batches have
// ended.
func (s *stage) carryOn(repeat []repeated, pass func(time.Duration)) {
	s.t.Helper()
	for _, r := range repeat {
		noError(s.t, r.ask(s.ctx, s.app))
	}
	for round := 0; s.carryOnOnce() > 0; round++ {
		if round == 30 {
			s.t.Fatal("after three weeks there are batches that have not ended")
		}
		if round < 8 {
			pass(15 * time.Minute)
		} else {
			pass(day)
		}
	}
	for _, u := range s.listUnprocessable(api.ListOptions{Statuses: []string{string(api.UnprocessableOpen)}}) {
		if u.Type != "odd" {
			s.t.Errorf("%s could not be processed: %s", u.MessageID, u.Reason)
		}
	}
}

// carryOnOnce makes the pending decision of each batch and returns the number of open
// batches.
func (s *stage) carryOnOnce() (open int) {
	s.t.Helper()
	page := must(s.app.Batches(s.ctx, api.ListOptions{Limit: 1000}))(s.t)
	for _, b := range page.Items {
		if b.CompletedAt != nil {
			continue
		}
		open++
		if b.Paused != nil {
			must(s.app.Resume(s.ctx, ada, b.ID, ""))(s.t)
		}
		if b.Held != nil && b.Held.Confirmed == nil {
			held := must(s.app.HeldRemovals(s.ctx, ada, b.ID, api.ListOptions{}))(s.t)
			must(s.app.ConfirmRemovals(s.ctx, ada, b.ID, held.Revision, ""))(s.t)
		}
		for _, p := range s.phases(b.ID) {
			if p.Status == "pending" && p.Approval && p.Approved == nil {
				_, err := s.app.Approve(s.ctx, ada, b.ID, p.Name, "")
				s.unlessConflict(err)
			}
		}
		if b.IsManual {
			_, err := s.app.Advance(s.ctx, ada, b.ID, s.next(b.ID))
			s.unlessConflict(err)
		}
	}
	return open
}

// unlessConflict is for what the state does not allow yet.
func (s *stage) unlessConflict(err error) {
	s.t.Helper()
	if err != nil && problem.CodeOf(err) != api.CodeConflict {
		s.t.Fatal(describe(err))
	}
}

// endings returns the end states of all batches.
// cause finds why a job had no result.
var cause = regexp.MustCompile(`(no result within \w+): .*`)

func (s *stage) endings() map[int]ending {
	s.t.Helper()
	page := must(s.app.Batches(s.ctx, api.ListOptions{Limit: 1000}))(s.t)
	all := map[int]ending{}
	for _, b := range page.Items {
		s.recount(b)
		e := ending{Status: b.Status, Error: b.Error, Members: map[string]string{}, Steps: map[string][]string{}}
		for _, p := range s.phases(b.ID) {
			e.Phases = append(e.Phases, fmt.Sprintf("%s of version %d %s %d/%d/%d", p.Name, p.RunbookVersion, p.Status, p.Succeeded, p.Failed, p.Cancelled))
		}
		keys := map[int]string{}
		for key, m := range s.members(b.ID) {
			reason := cause.ReplaceAllString(m.Error, "$1: …") // it depends on what was last seen of the worker
			e.Members[key], keys[m.ID] = strings.TrimSuffix(m.Status+": "+reason, ": "), key
		}
		steps := s.allSteps(b.ID)
		for _, v := range steps {
			e.Steps[keys[v.MemberID]] = append(e.Steps[keys[v.MemberID]], v.Phase+": "+v.Name+" "+v.Status)
		}
		all[b.ID] = e
	}
	return all
}

// allSteps are a batch's, in the order of their ids.
func (s *stage) allSteps(id int) []api.Step {
	s.t.Helper()
	var all []api.Step
	o := api.ListOptions{Limit: 1000}
	for {
		page := must(s.app.Steps(s.ctx, reader, id, o))(s.t)
		all = append(all, page.Items...)
		if o.Continuation = page.Continuation; o.Continuation == "" {
			break
		}
	}
	slices.SortFunc(all, func(a, b api.Step) int { return cmp.Compare(a.ID, b.ID) })
	return all
}
