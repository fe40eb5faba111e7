package app_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/report"
)

// report gives one as it is written.
func (s *stage) report(id int, format report.Format) string {
	s.t.Helper()
	var out bytes.Buffer
	r := must(s.app.Report(s.ctx, reader, id, format))(s.t)
	noError(s.t, r.Write(s.ctx, &out))
	return out.String()
}

// readReport gives the rows of a report in CSV by the keys of the members, and those by the
// names of the columns.
func (s *stage) readReport(id int) map[string]map[string]string {
	s.t.Helper()
	rows := must(csv.NewReader(strings.NewReader(strings.TrimPrefix(s.report(id, report.CSV), "\ufeff"))).ReadAll())(s.t)
	out := map[string]map[string]string{}
	for _, row := range rows[1:] {
		cells := map[string]string{}
		for i, name := range rows[0] {
			cells[name] = row[i]
		}
		if out[cells["key"]] != nil {
			s.t.Fatalf("%s is told of twice", cells["key"])
		}
		out[cells["key"]] = cells
	}
	return out
}

func TestReportTellsOfEveryMemberAndStep(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": always(`{"id":"u"}`), "Copy": only(fails(errors.New("=no")), 51)}
		s.publish(leaving(undoable))
		b := s.batch("undoable", people(60)) // two pages
		s.advance(b.ID)
		s.remove(b.ID, 3)
		answers := s.readReport(b.ID)
		if len(answers) != 60 {
			t.Fatalf("%d members are told of", len(answers))
		}
		now := s.clock.Now().Format(time.RFC3339)
		for _, want := range []struct{ key, column, cell string }{
			{"p001@x", "outcome", "in progress"},
			{"p001@x", "move", "succeeded"},
			{"p001@x", "move / tell", "succeeded"},
			{"p001@x", "move rolled back", ""},
			{"p001@x", "verify / check", ""},
			{"p051@x", "outcome", "failed at move/copy"},
			{"p051@x", "failed phase", "move"},
			{"p051@x", "failed step", "copy"},
			{"p051@x", "error", `phase move: step "copy": =no (Test)`},
			{"p051@x", "move", "failed"},
			{"p051@x", "move / new", "succeeded"},
			{"p051@x", "move / copy", "failed"},
			{"p051@x", "move / tell", "cancelled"},
			{"p051@x", "move rolled back", "undo: stop succeeded, delete succeeded, alert succeeded"},
			{"p003@x", "outcome", "removed"},
			{"p003@x", "removed by", "ada"},
			{"p003@x", "on_member_removed / forward", "succeeded"},
			{"p003@x", "read at", now},
			{"p051@x", "data / Upn", "p051@x"},
			{"p051@x", "data / Name", "Person 51"},
			{"p051@x", "other data", ""},
		} {
			if got, ok := answers[want.key][want.column]; !ok || got != want.cell {
				t.Errorf("%s, %s: %q, want %q", want.key, want.column, got, want.cell)
			}
		}
		if got := s.report(b.ID, report.HTML); strings.Contains(got, "Person 51") {
			t.Error("the page for other readers has the row of a member")
		}
		page := s.report(b.ID, report.HTML)
		if first, other := strings.Index(page, ">p051@x<"), strings.Index(page, ">p001@x<"); first < 0 || first > other {
			t.Errorf("who failed is at %d, who did not at %d", first, other)
		}
		for i := range 60 {
			if n := strings.Count(page, fmt.Sprintf(">p%03d@x<", i+1)); n != 1 {
				t.Errorf("member %d has %d rows", i+1, n)
			}
		}
		if !strings.Contains(page, "60 members, read from") {
			t.Error("it does not tell how many they are")
		}
	})
}

// A batch runs on while its report is read: a member who fails, joins or is
// removed meanwhile appears once or, if they joined after its beginning, not at all.
func TestReportWhileTheBatchGoesOn(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.script = script{"New": always(`{"id":"u"}`), "Copy": only(fails(errNo), 51), "Check": only(fails(errNo), 2, 60)}
	b := s.startBatch(leaving(undoable), people(60))
	for _, format := range report.Formats {
		r := must(s.app.Report(s.ctx, reader, b.ID, format))(t)
		if format == report.CSV {
			s.remove(b.ID, 4)
			must(s.app.AddMembers(s.ctx, ada, b.ID, []byte("Upn,Name\nlate@x,Late\n")))(t)
			s.deliverAll()
			s.advance(b.ID)
		}
		var out bytes.Buffer
		noError(t, r.Write(s.ctx, &out))
		for i := range 60 {
			row := fmt.Sprintf("p%03d@x", i+1)
			if format == report.CSV { // which has the key as data, too
				row = fmt.Sprintf(",%d,%s,", i+1, row)
			}
			if n := strings.Count(out.String(), row); n != 1 {
				t.Errorf("%s: member %d has %d rows", format, i+1, n)
			}
		}
		if late := strings.Contains(out.String(), "late@x"); late != (format == report.HTML) {
			t.Errorf("%s: who joined is told of: %t", format, late)
		}
	}
	s.verify()
}

func TestReportOfABatchThatIsBegunNowhere(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	b := s.createBatch(undoable, people(1))
	if answers := s.readReport(b.ID); answers["p001@x"]["outcome"] != "not started" || answers["p001@x"]["move / new"] != "" {
		t.Errorf("report: %v", answers)
	}
}

// Members of a known page who fail between its two reads appear once.
func TestReportOfWhoFailsBetweenTheLooks(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.script = script{"New": always(`{"id":"u"}`), "Check": only(fails(errNo), 1, 52)}
	b := s.startBatch(undoable, people(60))
	r := must(s.app.Report(s.ctx, reader, b.ID, report.HTML))(t)
	w := &interrupted{then: func() { s.advance(b.ID) }}
	noError(t, r.Write(s.ctx, w))
	for i := range 60 {
		if n := strings.Count(w.String(), fmt.Sprintf("p%03d@x", i+1)); n != 1 {
			t.Errorf("member %d has %d rows", i+1, n)
		}
	}
}

// interrupted calls a function at the first write.
type interrupted struct {
	bytes.Buffer
	then func()
}

func (i *interrupted) Write(p []byte) (int, error) {
	if then := i.then; then != nil {
		i.then = nil
		then()
	}
	return i.Buffer.Write(p)
}

// A version that runs a phase again has columns of its own.
func TestReportOfSeveralVersions(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.script = script{"New": always(`{"id":"u"}`)}
	b := s.startBatch(undoable, people(2))
	s.publishNew(strings.Replace(undoable, "name: tell", "name: inform", 1), api.PublishOptions{Overdue: api.OverdueRerun})
	s.advance(b.ID)
	answers := s.readReport(b.ID)
	for column, want := range map[string]string{"move / tell": "succeeded", "move (2) / inform": "succeeded"} {
		if got, ok := answers["p001@x"][column]; !ok || got != want {
			t.Errorf("%s: %q of %v", column, got, answers["p001@x"])
		}
	}
}

func TestReportThatCannotBeHad(t *testing.T) {
	t.Parallel()
	s := newStage(t, false, azure)
	b := s.createBatch(undoable, people(2))
	s.wantRefused(errorOf(s.app.Report(s.ctx, reader, 99, report.CSV)), api.CodeNotFound, "there is no batch 99")
	s.wantRefused(errorOf(s.app.Report(s.ctx, reader, b.ID, "pdf")), api.CodeInvalid, "csv or html")
	r := must(s.app.Report(s.ctx, reader, b.ID, report.CSV))(t)
	noError(t, s.cosmos.Close())
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	if err := r.Write(ctx, io.Discard); err == nil {
		t.Error("a report without its members was written")
	}
}
