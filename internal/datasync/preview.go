package datasync

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/datasource"
	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/schedule"
	"github.com/matoolkit/matoolkit/internal/sealing"
	"github.com/matoolkit/matoolkit/internal/store"
)

// previewTime is for how long a preview goes on: Azure gives a request that long.
const previewTime = 3 * time.Minute

// maxSample is about how many bytes of rows a preview shows.
const maxSample = 8 << 20

// PreviewQuery runs a runbook's query and tells what the next tick would make of it
// with automation on, whether it is or not, and changes nothing. At most sample rows
// are shown, 100 where it is 0. That somebody saw them is recorded first. Errors: CodeNotFound; CodeConflict where the runbook has
// no query; CodeInvalid with the cause where the query failed, and CodeSourceAway with it
// where the source did not answer.
func (sy *Syncer) PreviewQuery(ctx context.Context, by audit.Caller, name string, sample int) (api.QueryPreview, error) {
	_, rb, err := sy.runbooks.Active(ctx, name)
	if err != nil {
		return api.QueryPreview{}, err
	}
	if !rb.DataSource.Queried() {
		return api.QueryPreview{}, problem.New(api.CodeConflict, "the members of runbook %q are uploaded: it has no query to preview", name)
	}
	if err := sy.audit.RecordRead(ctx, by, store.AuditRecord{Action: api.ActionPreviewQuery, Runbook: name}); err != nil {
		return api.QueryPreview{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, previewTime)
	defer cancel()
	s := &syncRun{syncer: sy, name: name, dry: true, now: sy.now().UTC()}
	view := api.QueryPreview{RunbookName: name, Sample: []map[string]json.RawMessage{}, Groups: []api.PreviewGroup{}, Problems: []api.RowProblem{}}
	began := time.Now()
	room := maxSample
	s.watch = func(columns []string, values []json.RawMessage) {
		view.Columns = columns
		if len(view.Sample) < (api.ListOptions{Limit: sample}).PageSize() && room > 0 && values != nil {
			row := make(map[string]json.RawMessage, len(columns))
			for i, column := range columns {
				row[column] = slices.Clone(values[i])
				if s.rb.IsSecret(column) {
					row[column] = json.RawMessage(`"` + sealing.Redacted + `"`)
				}
				room -= len(column) + len(values[i])
			}
			view.Sample = append(view.Sample, row)
		}
	}
	if err := s.compare(ctx); err != nil {
		return api.QueryPreview{}, sy.queryFailed(err)
	}
	if err := s.leaveOutTaken(ctx); err != nil {
		return api.QueryPreview{}, err
	}
	view.Version, view.Enabled, view.Milliseconds = s.version, s.enabled, time.Since(began).Milliseconds()
	view.RowCount, view.ProblemCount = s.result.Len(), s.plan.Counts.Problems
	view.Problems = append(view.Problems, rowProblems(s.plan.Problems[:min(len(s.plan.Problems), keptProblems)])...)
	view.Groups = append(view.Groups, s.groups()...)
	if held := s.plan.Additions; held != nil {
		view.Additions = &api.PreviewAdditions{People: len(held.People), Of: held.Of, Reason: held.Reason, Revision: s.plan.Revision}
	}
	sy.log.InfoContext(ctx, "query previewed", logkey.Runbook, name, logkey.Rows, view.RowCount, logkey.By, by.Name)
	return view, nil
}

// leaveOutTaken takes people whom another batch has out of the batches of the plan, and
// reports them, as the tick does when it adds people. Those who move between batches of the
// runbook stay in the plan. Held additions stay as they are, since the revision covers them.
func (s *syncRun) leaveOutTaken(ctx context.Context) error {
	moves := map[string]bool{}
	for _, c := range s.plan.Changes {
		for _, r := range c.Remove {
			moves[r.Key] = true
		}
	}
	var keys []string
	add := func(key string) {
		if !moves[key] {
			keys = append(keys, key)
		}
	}
	for _, group := range s.plan.New {
		for _, row := range group.Rows {
			add(row.Key)
		}
	}
	for _, c := range s.plan.Changes {
		for _, row := range c.Add {
			add(row.Key)
		}
	}
	if s.plan.Additions != nil {
		for _, p := range s.plan.Additions.People {
			add(p.Key)
		}
	}
	taken, err := s.syncer.members.FindTaken(ctx, s.rb, keys)
	if err != nil || len(taken) == 0 {
		return err
	}
	out := map[string]bool{}
	for _, t := range taken {
		out[t.Key] = true
	}
	isOut := func(row schedule.Row) bool { return out[row.Key] }
	for i, group := range s.plan.New {
		s.plan.New[i].Rows = slices.DeleteFunc(group.Rows, isOut)
	}
	s.plan.New = slices.DeleteFunc(s.plan.New, func(group schedule.Group) bool { return len(group.Rows) == 0 })
	for i, c := range s.plan.Changes {
		s.plan.Changes[i].Add = slices.DeleteFunc(c.Add, isOut)
	}
	s.reportTaken(taken)
	return nil
}

// queryFailed makes an error for the caller of a query that went wrong.
func (sy *Syncer) queryFailed(err error) error {
	var source *datasource.Error
	var columns *schedule.ColumnsError
	switch {
	case errors.As(err, &source) && source.Away:
		return &problem.Error{Code: api.CodeSourceAway, Message: sy.told(err), Cause: err}
	case errors.As(err, &source), errors.As(err, &columns):
		return &problem.Error{Code: api.CodeInvalid, Message: sy.told(err), Problems: []api.InputProblem{{Field: "data_source", Message: sy.told(err)}}, Cause: err}
	}
	return err
}

// groups tells of the batches that there are, those that would be made, and the starts
// for which none would.
func (s *syncRun) groups() []api.PreviewGroup {
	rows := map[time.Time]int{}
	for row := range s.result.Rows() {
		if row.Start.IsZero() {
			row.Start = schedule.ImmediateStart(s.now)
		}
		rows[row.Start]++
	}
	changes := map[int]schedule.Change{}
	for _, c := range s.plan.Changes {
		changes[c.Batch] = c
	}
	waiting := map[time.Time]int{}
	if s.plan.Additions != nil {
		for _, p := range s.plan.Additions.People {
			waiting[p.Start]++
		}
	}
	told := map[time.Time]bool{}
	var groups []api.PreviewGroup
	for id, b := range s.batches {
		if !follows(&b.Doc) {
			continue
		}
		start, c := b.Doc.StartTime.UTC(), changes[id]
		told[start] = true
		g := api.PreviewGroup{
			BatchStartTime: &start, BatchID: id, Status: string(b.Doc.Status), Rows: rows[start],
			Add: len(c.Add), Refresh: len(c.Refresh), Remove: len(c.Remove), AddHeld: waiting[start],
		}
		if c.Held != nil {
			g.Held, g.Note = len(c.Held.Removals), c.Held.Reason
		}
		groups = append(groups, g)
	}
	for _, n := range s.plan.New {
		told[n.Start] = true
		groups = append(groups, api.PreviewGroup{BatchStartTime: &n.Start, Rows: rows[n.Start], Add: len(n.Rows), AddHeld: waiting[n.Start], Note: s.newNote(n.Start)})
	}
	for start, n := range rows {
		if told[start] {
			continue
		}
		g := api.PreviewGroup{BatchStartTime: &start, Rows: n, BatchID: s.over[start], AddHeld: waiting[start]}
		switch g.Note = "no batch is made now: they are still in another, or the problems say why"; {
		case g.AddHeld > 0:
			g.Note = "no batch is made before the additions are confirmed"
		case g.BatchID != 0:
			g.Note = fmt.Sprintf("batch %d for this start has ended; nobody is added to it", g.BatchID)
		}
		groups = append(groups, g)
	}
	slices.SortFunc(groups, func(p, q api.PreviewGroup) int { return p.BatchStartTime.Compare(*q.BatchStartTime) })
	return groups
}

// newNote tells of a batch that would be made which of its phases are due already.
func (s *syncRun) newNote(start time.Time) string {
	b := engine.NewDetected(0, s.rb, s.version, start, s.now)
	due := 0
	for _, p := range b.Phases {
		if p.DueAt != nil && !p.DueAt.After(s.now) {
			due++
		}
	}
	switch due {
	case 0:
		return ""
	case 1:
		return "1 phase is due already and begins as soon as the batch is made"
	}
	return fmt.Sprintf("%d phases are due already and begin one after the other as soon as the batch is made", due)
}
