package app_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/problem"
)

// wantVersions compares a runbook's versions, read one at a time, with the words that
// tell of each.
func (w *world) wantVersions(name string, want ...string) {
	w.t.Helper()
	var got []string
	o := api.ListOptions{Limit: 1}
	for {
		page := must(w.app.Versions(w.ctx, name, o))(w.t)
		for _, v := range page.Items {
			if v.YAML != "" || v.CreatedAt.IsZero() || v.Name != name {
				w.t.Errorf("%+v", v)
			}
			words := fmt.Sprintf("%d by %s %s", v.Version, v.PublishedBy, v.Overdue)
			if v.RerunInit {
				words += " init"
			}
			if v.Active {
				words += " active"
			}
			if d := v.Deactivated; d != nil {
				words += fmt.Sprintf(" deactivated by %s: %s", d.By, d.Why)
			}
			got = append(got, words)
		}
		if o.Continuation = page.Continuation; o.Continuation == "" {
			break
		}
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		w.t.Fatalf("versions:\n  %s\nwant:\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

func TestVersionsTellWhoPublishedThemAndHow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish(mover)
	must(w.app.PublishRunbook(w.ctx, grace, "", []byte(mover+"# 2\n"), api.PublishOptions{Overdue: api.OverdueRerun, RerunInit: true}))(t)
	w.publish(strings.Replace(mover, "name: move\n", "name: move-2\n", 1)) // is among nobody else's
	w.wantVersions("move", "2 by grace rerun init active", "1 by ada ignore")

	first, err := w.app.Version(w.ctx, "move", 1)
	if err != nil || first.YAML != mover || first.Active || first.ETag == "" {
		t.Errorf("%+v, %v", first, err)
	}
	for name, call := range map[string]func() error{
		"versions of none": func() error { return errorOf(w.app.Versions(w.ctx, "other", api.ListOptions{})) },
		"version of none":  func() error { return errorOf(w.app.Version(w.ctx, "other", 1)) },
		"no such version":  func() error { return errorOf(w.app.Version(w.ctx, "move", 3)) },
		"deactivated":      func() error { return errorOf(w.app.Deactivate(w.ctx, ada, "move", 3, "")) },
	} {
		if err := call(); problem.CodeOf(err) != api.CodeNotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := w.app.Versions(w.ctx, "move", api.ListOptions{Continuation: "x"}); problem.CodeOf(err) != api.CodeInvalid {
		t.Errorf("a token that is none: %v", err)
	}
}

func TestDeactivatedRunbookMakesNothingMoreUntilItIsPublishedAgain(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		b := s.startBatch(twoSteps, people(1))
		s.publishNew(second(twoSteps), api.PublishOptions{})

		_, err := s.app.Deactivate(s.ctx, ada, "two", 1, "")
		if problem.CodeOf(err) != api.CodeConflict || !strings.Contains(err.Error(), `version 1 of runbook "two" is not active, version 2 is`) {
			t.Fatal(err)
		}
		_, err = s.app.Deactivate(s.ctx, ada, "two", 2, strings.Repeat("x", api.MaxReason+1))
		if problem.CodeOf(err) != api.CodeInvalid {
			t.Fatal(err)
		}
		now := must(s.app.Version(s.ctx, "two", 2))(t)
		_, err = s.app.Deactivate(s.ctx, ada, "two", 2, "", "another")
		if problem.CodeOf(err) != api.CodeChanged {
			t.Fatal(err)
		}
		for _, by := range []string{"grace", "ada"} { // who comes second changes nothing
			v := must(s.app.Deactivate(s.ctx, audit.Caller{Name: by}, "two", 2, "by "+by, now.ETag))(t)
			if v.Active || v.ETag == now.ETag || v.Deactivated.By != "grace" || v.Deactivated.Why != "by grace" || v.Deactivated.At.IsZero() {
				t.Fatalf("%+v", v)
			}
		}
		_, err = s.app.Deactivate(s.ctx, ada, "two", 1, "")
		if problem.CodeOf(err) != api.CodeConflict || !strings.Contains(err.Error(), "no version is active") {
			t.Fatal(err)
		}
		for name, call := range map[string]func() error{
			"get":      func() error { return errorOf(s.app.Runbook(s.ctx, "two")) },
			"template": func() error { return errorOf(s.app.CSVTemplate(s.ctx, "two", "")) },
			"batch":    func() error { return errorOf(s.app.CreateBatch(s.ctx, ada, "two", []byte(people(1)))) },
			"preview":  func() error { return errorOf(s.app.PreviewQuery(s.ctx, ada, "two", 0)) },
		} {
			if err := call(); problem.CodeOf(err) != api.CodeNotFound || !strings.Contains(err.Error(), "no version of runbook") {
				t.Errorf("%s: %v", name, err)
			}
		}
		if page, err := s.app.Runbooks(s.ctx, api.ListOptions{}); err != nil || len(page.Items) != 0 {
			t.Fatalf("%+v, %v", page, err)
		}

		// The batch had not been taken over to version 2, and goes on under version 1.
		s.tick()
		s.advance(b.ID)
		s.wantCalls(1, "New Join Check")
		s.wantStatus(b.ID, "completed")

		s.publishNew(second(twoSteps), api.PublishOptions{})
		s.wantVersions("two", "3 by ada ignore active", "2 by ada ignore deactivated by grace: by grace", "1 by ada ignore")
		if v, err := s.app.Deactivate(s.ctx, ada, "two", 2, ""); err != nil || v.Active { // it is what was asked for
			t.Fatalf("%+v, %v", v, err)
		}
		if v, err := s.app.Runbook(s.ctx, "two"); err != nil || v.Version != 3 {
			t.Fatalf("%+v, %v", v, err)
		}
	})
}

func TestAutomationWithoutAnActiveVersionDoesNothingAndSaysSo(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		people := s.tableOf(dawn.Add(3*day), "ann")
		s.findBatches(found(twoPhases, ""))
		s.wantBatches("1 04 09:00 active: ann")
		must(s.app.Deactivate(s.ctx, ada, "found", 1, "the wrong query"))(t)

		people.put(dawn.Add(3*day), "bob")
		people.put(dawn.Add(5*day), "eve")
		s.tick()
		s.wantBatches("1 04 09:00 active: ann")
		standing := s.automation("found")
		if !standing.Enabled || standing.LastError != "" || !strings.Contains(standing.Idle, "no version of the runbook is active") {
			t.Fatalf("%+v", standing)
		}
		off := must(s.app.SetAutomation(s.ctx, ada, "found", false, standing.ETag))(t)
		if off.Enabled || off.ETag == standing.ETag || off.Idle == "" {
			t.Fatalf("%+v", off)
		}
		if _, err := s.app.SetAutomation(s.ctx, ada, "found", true); problem.CodeOf(err) != api.CodeConflict {
			t.Fatal(err)
		}
		s.publish(found(twoPhases, ""))
		if _, err := s.app.SetAutomation(s.ctx, ada, "found", true, standing.ETag); problem.CodeOf(err) != api.CodeChanged {
			t.Fatal(err)
		}
		on := must(s.app.SetAutomation(s.ctx, ada, "found", true, standing.ETag, off.ETag))(t)
		if !on.Enabled || on.Idle != "" {
			t.Fatalf("%+v", on)
		}
		if same := s.automation("found"); same.ETag != on.ETag {
			t.Errorf("the tag changes by itself: %q, %q", same.ETag, on.ETag)
		}
		s.tick()
		s.wantBatches("1 04 09:00 active: ann bob", "2 06 09:00 active: eve")
	})
}

// A runbook deactivated while its query runs creates no batch any more.
func TestDeactivatedDuringATick(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.table().put(dawn.Add(3*day), "ann")
	s.publishAutomated(found(twoPhases, ""))
	slow := s.between(readsAutomation, func() {
		must(s.other.Deactivate(s.ctx, ada, "found", 1, ""))(t)
	})
	noError(t, slow.Tick(s.ctx))
	s.deliverAll()
	s.wantBatches()
	if v := s.automation("found"); !strings.Contains(v.LastError, "no version of the runbook is active") || v.Idle == "" {
		t.Errorf("%+v", v)
	}
}

// After concurrent publishing and deactivating, the runbook's active version is one
// that was not deactivated, or there is none.
func TestPublishingAndDeactivatingAtTheSameTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish(mover)
	const writers, rounds = 4, 8
	var all sync.WaitGroup
	failures := make(chan error, 2*writers*rounds)
	for i := range writers {
		all.Add(2)
		go func() {
			defer all.Done()
			for j := range rounds {
				_, err := w.app.PublishRunbook(w.ctx, ada, "", fmt.Appendf(nil, "%s# %d %d\n", mover, i, j), api.PublishOptions{})
				failures <- err
			}
		}()
		go func() {
			defer all.Done()
			for range rounds {
				page, err := w.app.Versions(w.ctx, "move", api.ListOptions{Limit: 1})
				if err == nil {
					_, err = w.app.Deactivate(w.ctx, ada, "move", page.Items[0].Version, "")
				}
				if problem.CodeOf(err) == api.CodeConflict { // somebody has published
					err = nil
				}
				failures <- err
			}
		}()
	}
	all.Wait()
	close(failures)
	var failed []error
	for err := range failures {
		failed = append(failed, err)
	}
	noError(t, errors.Join(failed...))
	page, err := w.app.Versions(w.ctx, "move", api.ListOptions{Limit: 1000})
	if err != nil || len(page.Items) != 1+writers*rounds {
		t.Fatalf("%d versions, %v", len(page.Items), err)
	}
	for i, v := range page.Items {
		if v.Version != len(page.Items)-i || v.Active && (i != 0 || v.Deactivated != nil) {
			t.Errorf("%+v", v)
		}
	}
	if newest := page.Items[0]; !newest.Active && newest.Deactivated == nil {
		t.Errorf("%+v is not active, and nobody deactivated it", newest)
	}
}

func TestFiltersThatNothingCanMatchAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.createBatch(mover, people(1))
	_, err := w.app.Steps(w.ctx, reader, b.ID, api.ListOptions{Phase: "mvoe"})
	if problem.CodeOf(err) != api.CodeInvalid || !strings.Contains(err.Error(), `no phase "mvoe"; it has init, `) {
		t.Error(err)
	}
	if _, err := w.app.Steps(w.ctx, reader, b.ID, api.ListOptions{Phase: "INIT"}); err != nil {
		t.Error(err)
	}
	_, err = w.app.BatchAudit(w.ctx, b.ID, api.AuditFilter{Action: "created"}, api.ListOptions{})
	if problem.CodeOf(err) != api.CodeInvalid || !strings.Contains(err.Error(), `unknown action "created"; use one of create, advance`) {
		t.Error(err)
	}
}
