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
		page, err := w.app.Versions(w.ctx, name, o)
		if err != nil {
			w.t.Fatal(describe(err))
		}
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
	_, err := w.app.PublishRunbook(w.ctx, audit.Caller{Name: "grace"}, "", []byte(mover+"# 2\n"), api.PublishOptions{Overdue: api.OverdueRerun, RerunInit: true})
	if err != nil {
		t.Fatal(describe(err))
	}
	w.publish(strings.Replace(mover, "name: move\n", "name: move-2\n", 1)) // is among nobody else's
	w.wantVersions("move", "2 by grace rerun init active", "1 by ada ignore")

	first, err := w.app.Version(w.ctx, "move", 1)
	if err != nil || first.YAML != mover || first.Active || first.ETag == "" {
		t.Errorf("%+v, %v", first, err)
	}
	for name, call := range map[string]func() error{
		"versions of none": func() error { _, err := w.app.Versions(w.ctx, "other", api.ListOptions{}); return err },
		"version of none":  func() error { _, err := w.app.Version(w.ctx, "other", 1); return err },
		"no such version":  func() error { _, err := w.app.Version(w.ctx, "move", 3); return err },
		"deactivated":      func() error { _, err := w.app.Deactivate(w.ctx, ada, "move", 3, ""); return err },
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
	t.Parallel()
	play(t, func(t *testing.T, s *stage) {
		s.publish(twoSteps)
		b := s.batch("two", people(1))
		s.advance(b.ID)
		s.publishNew(second(twoSteps), api.PublishOptions{})

		_, err := s.app.Deactivate(s.ctx, ada, "two", 1, "")
		if problem.CodeOf(err) != api.CodeConflict || !strings.Contains(err.Error(), `version 1 of runbook "two" is not active, version 2 is`) {
			t.Fatal(err)
		}
		_, err = s.app.Deactivate(s.ctx, ada, "two", 2, strings.Repeat("x", api.MaxReason+1))
		if problem.CodeOf(err) != api.CodeInvalid {
			t.Fatal(err)
		}
		now, err := s.app.Version(s.ctx, "two", 2)
		must(s, now, err)
		_, err = s.app.Deactivate(s.ctx, ada, "two", 2, "", "another")
		if problem.CodeOf(err) != api.CodeChanged {
			t.Fatal(err)
		}
		for _, by := range []string{"grace", "ada"} { // who comes second changes nothing
			v, err := s.app.Deactivate(s.ctx, audit.Caller{Name: by}, "two", 2, "by "+by, now.ETag)
			if must(s, v, err); v.Active || v.ETag == now.ETag || v.Deactivated.By != "grace" || v.Deactivated.Why != "by grace" || v.Deactivated.At.IsZero() {
				t.Fatalf("%+v", v)
			}
		}
		_, err = s.app.Deactivate(s.ctx, ada, "two", 1, "")
		if problem.CodeOf(err) != api.CodeConflict || !strings.Contains(err.Error(), "no version is active") {
			t.Fatal(err)
		}
		for name, call := range map[string]func() error{
			"get":      func() error { _, err := s.app.Runbook(s.ctx, "two"); return err },
			"template": func() error { _, err := s.app.CSVTemplate(s.ctx, "two"); return err },
			"batch":    func() error { _, err := s.app.CreateBatch(s.ctx, ada, "two", []byte(people(1))); return err },
			"preview":  func() error { _, err := s.app.PreviewQuery(s.ctx, ada, "two", 0); return err },
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
	t.Parallel()
	play(t, func(t *testing.T, s *stage) {
		people := s.table()
		people.put(dawn.Add(3*day), "ann")
		s.publish(found(twoPhases, ""))
		s.automate("found")
		s.tick()
		s.wantBatches("1 04 09:00 active: ann")
		v, err := s.app.Deactivate(s.ctx, ada, "found", 1, "the wrong query")
		must(s, v, err)

		people.put(dawn.Add(3*day), "bob")
		people.put(dawn.Add(5*day), "eve")
		s.tick()
		s.wantBatches("1 04 09:00 active: ann")
		standing := s.automation("found")
		if !standing.Enabled || standing.LastError != "" || !strings.Contains(standing.Idle, "no version of the runbook is active") {
			t.Fatalf("%+v", standing)
		}
		off, err := s.app.SetAutomation(s.ctx, ada, "found", false, standing.ETag)
		if must(s, off, err); off.Enabled || off.ETag == standing.ETag || off.Idle == "" {
			t.Fatalf("%+v", off)
		}
		if _, err := s.app.SetAutomation(s.ctx, ada, "found", true); problem.CodeOf(err) != api.CodeConflict {
			t.Fatal(err)
		}
		s.publish(found(twoPhases, ""))
		if _, err := s.app.SetAutomation(s.ctx, ada, "found", true, standing.ETag); problem.CodeOf(err) != api.CodeChanged {
			t.Fatal(err)
		}
		on, err := s.app.SetAutomation(s.ctx, ada, "found", true, standing.ETag, off.ETag)
		if must(s, on, err); !on.Enabled || on.Idle != "" {
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
	s.publish(found(twoPhases, ""))
	s.automate("found")
	slow := s.between(readsAutomation, func() {
		v, err := s.other.Deactivate(s.ctx, ada, "found", 1, "")
		must(s, v, err)
	})
	must(s, 0, slow.Tick(s.ctx))
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
	if err := errors.Join(failed...); err != nil {
		t.Fatal(err)
	}
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
	w.publish(mover)
	b := w.batch("move", people(1))
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
