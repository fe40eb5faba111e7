package migration

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/graph"
)

// task is a crossTenantMigrationTask: a person of a job.
type task struct {
	ID            string
	CurrentStatus []workload
}

// workload is how far a person is in one workload.
type workload struct {
	Service, Status, Message string
	Errors                   []struct{ Code, Message string }
}

func (w workload) is(statuses ...string) bool { return is(w.Status, statuses) }

// Kinds of statuses of a workload. A status that is in none of them, such as forceComplete or unknownFutureValue, is
// neither success nor failure.
var (
	gaveUp  = []string{"invalid", "error", "failed", "cancelled", "pendingCancel"}
	stopped = []string{"cancelled", "pendingCancel"} // and not moved if the job is started again
	// reached are the statuses that count as an expected one: itself, and what comes after it.
	reached = map[string][]string{
		"valid":     {"valid", "syncing", "synced", "finalizing", "completed"},
		"synced":    {"synced", "finalizing", "completed"},
		"completed": {"completed"},
	}
)

// why are the errors of a workload that gave up.
func (w workload) why() string {
	var texts []string
	for _, e := range w.Errors {
		if text := strings.Trim(e.Code+": "+e.Message, ": "); text != "" {
			texts = append(texts, text)
		}
	}
	return cmp.Or(strings.Join(texts, "; "), w.Message, "Graph gives no reason")
}

func userPath(name, user string) string { return jobPath(name) + "/users/" + url.PathEscape(user) }

func readTask(object map[string]any) (t task, err error) {
	if err := read(object, &t); err != nil || t.ID == "" {
		return t, conflict("Graph's answer is not a person of a migration job")
	}
	return t, nil
}

// UserResult is the result of Test-CrossTenantMigrationUser.
type UserResult struct {
	Complete bool     `json:"complete"`
	Reason   string   `json:"reason,omitempty"` // why it is not complete
	Data     UserData `json:"data"`
}

// UserData tells of one person of a job.
type UserData struct {
	JobName        string
	UserID         string `json:"UserId"`
	ExpectedStatus string
	Workloads      []WorkloadData
}

// WorkloadData tells of one workload.
type WorkloadData struct{ Workload, Status string }

func (s service) testUser(ctx context.Context, p catalog.Params) (any, error) {
	name, err := jobName(p)
	if err != nil {
		return nil, err
	}
	counted, err := readWorkloads(p)
	if err != nil {
		return nil, err
	}
	data := UserData{JobName: name, UserID: p.String("UserId"), ExpectedStatus: cmp.Or(p.String("ExpectedStatus"), "synced"), Workloads: []WorkloadData{}}
	object, err := s.graph.Read(ctx, userPath(name, data.UserID))
	if err != nil {
		return nil, err
	}
	t, err := readTask(object)
	if err != nil {
		return nil, err
	}
	if len(counted) == 0 {
		have, err := s.readJob(ctx, name)
		if err != nil {
			return nil, err
		}
		if counted = have.Workloads; len(counted) == 0 {
			counted = allWorkloads
		}
	}
	var bad, open []string
	for _, w := range t.CurrentStatus {
		if !is(w.Service, counted) {
			continue
		}
		data.Workloads = append(data.Workloads, WorkloadData{w.Service, w.Status})
		switch state := w.Service + " is " + w.Status; {
		case w.is(gaveUp...):
			bad = append(bad, state+": "+w.why())
		case !w.is(reached[data.ExpectedStatus]...):
			open = append(open, state)
		}
	}
	for _, missing := range counted {
		if !slices.ContainsFunc(data.Workloads, func(w WorkloadData) bool { return strings.EqualFold(w.Workload, missing) }) {
			open = append(open, missing+" has no status")
		}
	}
	switch {
	case len(bad) > 0:
		return nil, failed(fmt.Sprintf("the move of %s in the job %s: %s, expected %s", data.UserID, name, strings.Join(bad, "; "), data.ExpectedStatus))
	case len(open) > 0:
		return UserResult{Reason: fmt.Sprintf("%s, expected %s", strings.Join(open, ", "), data.ExpectedStatus), Data: data}, nil
	}
	return UserResult{Complete: true, Data: data}, nil
}

func (s service) stopUser(ctx context.Context, p catalog.Params) (any, error) {
	name, err := jobName(p)
	if err != nil {
		return nil, err
	}
	user, path := p.String("UserId"), userPath(name, p.String("UserId"))
	if step := catalog.JobOf(ctx); step.Redelivered {
		have, err := s.readJob(ctx, name)
		switch {
		case err != nil:
			return nil, err
		case step.SentBefore(have.CreatedDateTime):
			return true, nil
		}
	}
	var missing bool
	var restarts []string
	look := graph.Look{Path: path, MayBeMissing: true, Shows: func(object map[string]any) (catalog.Shown, bool, error) {
		if missing, restarts = object == nil, nil; missing {
			return catalog.Shown{Answer: true, Met: true}, true, nil
		}
		t, err := readTask(object)
		if err != nil {
			return catalog.Shown{}, false, err
		}
		var open []string
		for _, w := range t.CurrentStatus {
			state := w.Service + " is " + w.Status
			switch {
			case w.is("completed"):
				return catalog.Shown{}, false, conflict(w.Service + " is completed: data is in the target, and cancelling does not bring it back")
			case w.is(stopped...):
			case w.is(gaveUp...):
				restarts = append(restarts, state)
				open = append(open, state)
			default:
				open = append(open, state)
			}
		}
		return catalog.Shown{Answer: true, Met: len(open) == 0 && len(t.CurrentStatus) > 0, Reason: strings.Join(open, ", ")}, false, nil
	}}
	answer, err := s.unless(ctx, look, func() (bool, error) {
		return s.graph.Write(ctx, http.MethodPost, path+"/cancel", nil)
	}, "the move was cancelled, but Graph does not show it")
	switch {
	case err == nil && missing: // the person is not in the job, or there is no such job
		_, err = s.readJob(ctx, name)
	case len(restarts) > 0 && refused(err):
		err = conflict(fmt.Sprintf("the move of %s in the job %s: %s, and would move if the job is started again (%s)", user, name, strings.Join(restarts, ", "), err))
	}
	return answer, err
}
