package datasync

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/datasource"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/schedule"
	"github.com/matoolkit/matoolkit/internal/sealing"
	"github.com/matoolkit/matoolkit/internal/store"
)

// previewTime is how long a preview may take: Azure gives a request that long.
const previewTime = 3 * time.Minute

// maxSample is how many bytes of rows a preview shows, approximately.
const maxSample = 8 << 20

// PreviewQuery runs a runbook's query and gives what the next tick would do with automation on,
// whether it is on or not, and writes nothing but the audit record of the read, first. It shows at
// most sample rows, 100 where sample is 0.
//
// Errors: CodeNotFound; CodeConflict where the runbook has no query; CodeInvalid with the cause
// where the query failed, and CodeSourceAway where the data source did not answer.
func (s *Syncer) PreviewQuery(ctx context.Context, by audit.Caller, name string, sample int) (api.QueryPreview, error) {
	_, rb, err := s.runbooks.Active(ctx, name)
	if err != nil {
		return api.QueryPreview{}, err
	}
	if !rb.DataSource.Queried() {
		return api.QueryPreview{}, problem.New(api.CodeConflict, "runbook %q has no query to preview: its members are uploaded", name)
	}
	if err := s.audit.RecordRead(ctx, by, store.AuditRecord{Action: api.ActionPreviewQuery, Runbook: name}); err != nil {
		return api.QueryPreview{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, previewTime)
	defer cancel()
	run := &syncRun{syncer: s, name: name, dry: true, now: s.now().UTC()}
	view := api.QueryPreview{RunbookName: name, Sample: []map[string]json.RawMessage{}, Groups: []api.PreviewGroup{}, Problems: []api.RowProblem{}}
	began := time.Now()
	run.watch = run.sampleInto(&view, (api.ListOptions{Limit: sample}).PageSize())
	if err := run.compare(ctx); err != nil {
		return api.QueryPreview{}, queryError(err)
	}
	if err := run.leaveOutTaken(ctx); err != nil {
		return api.QueryPreview{}, err
	}
	view.Version, view.Enabled, view.Milliseconds = run.version, run.enabled, time.Since(began).Milliseconds()
	view.RowCount, view.ProblemCount = run.result.Len(), run.plan.Counts.Problems
	view.Problems = append(view.Problems, rowProblems(run.plan.Problems[:min(len(run.plan.Problems), maxProblems)])...)
	view.Groups = append(view.Groups, run.previewGroups()...)
	view.Discarded = run.plan.Counts.Discarded
	if held := run.plan.Additions; held != nil {
		view.Additions = &api.PreviewAdditions{People: len(held.People), Of: held.Of, Reason: held.Reason, Revision: run.plan.Revision}
	}
	s.log.InfoContext(ctx, "query previewed", logkey.Runbook, name, logkey.Rows, view.RowCount, logkey.By, by.Name)
	return view, nil
}

// sampleInto gives a function for watch that puts the first rows into a preview, with secrets
// redacted.
func (s *syncRun) sampleInto(view *api.QueryPreview, limit int) func(columns []string, values []json.RawMessage) {
	left := maxSample // bytes
	return func(columns []string, values []json.RawMessage) {
		view.Columns = columns
		if len(view.Sample) >= limit || left <= 0 || values == nil {
			return
		}
		row := make(map[string]json.RawMessage, len(columns))
		for i, column := range columns {
			row[column] = slices.Clone(values[i])
			if s.rb.IsSecret(column) {
				row[column] = json.RawMessage(`"` + sealing.Redacted + `"`)
			}
			left -= len(column) + len(values[i])
		}
		view.Sample = append(view.Sample, row)
	}
}

// queryError gives the error of a preview whose query failed.
func queryError(err error) error {
	var source *datasource.Error
	var columns *schedule.ColumnsError
	switch {
	case errors.As(err, &source) && source.Away:
		return &problem.Error{Code: api.CodeSourceAway, Message: publicMessage(err), Cause: err}
	case errors.As(err, &source), errors.As(err, &columns):
		return &problem.Error{Code: api.CodeInvalid, Message: publicMessage(err), Problems: []api.InputProblem{{Field: "data_source", Message: publicMessage(err)}}, Cause: err}
	}
	return err
}

// leaveOutTaken takes people whom another batch has out of the batches of the plan, and reports
// them, as a tick does when it adds people. People who move between batches of the runbook stay in
// the plan. Held additions stay as they are, since the revision covers them.
func (s *syncRun) leaveOutTaken(ctx context.Context) error {
	taken, err := s.syncer.members.FindTaken(ctx, s.rb, s.keysToAdd())
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

// keysToAdd gives the keys of people whom the plan adds, or holds, and does not remove from
// another batch of the runbook.
func (s *syncRun) keysToAdd() []string {
	var keys []string
	for _, group := range s.plan.New {
		keys = appendKeys(keys, group.Rows)
	}
	moves := map[string]bool{}
	for _, c := range s.plan.Changes {
		keys = appendKeys(keys, c.Add)
		for _, r := range c.Remove {
			moves[r.Key] = true
		}
	}
	if s.plan.Additions != nil {
		for _, p := range s.plan.Additions.People {
			keys = append(keys, p.Key)
		}
	}
	return slices.DeleteFunc(keys, func(key string) bool { return moves[key] })
}

func appendKeys(keys []string, rows []schedule.Row) []string {
	for _, row := range rows {
		keys = append(keys, row.Key)
	}
	return keys
}
