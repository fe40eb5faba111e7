package sharepoint

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/graph"
)

// ReadyResult is the result of Test-SharePointMigrationReady.
type ReadyResult struct {
	Complete bool      `json:"complete"`
	Reason   string    `json:"reason,omitempty"` // why it is not complete
	Data     ReadyData `json:"data"`
}

// ReadyData tells whether content can move.
type ReadyData struct {
	Kind, Source, Target string
	ExpectedReady, Ready bool
}

func (s service) testReady(ctx context.Context, p catalog.Params) (any, error) {
	c, err := readContent(p)
	if err != nil {
		return nil, err
	}
	object, refusal, err := s.graph.Validate(ctx, tasksPath, c.body(true), http.StatusUnprocessableEntity)
	if err != nil {
		return nil, err
	}
	if refusal == "" {
		t, err := readValidation(object)
		if err != nil {
			return nil, err
		}
		if !t.completed() {
			refusal = fmt.Sprintf("the validation is %s: %s", cmp.Or(t.Status, "without a status"), t.why())
		}
	}
	result := ReadyResult{Complete: refusal == "", Data: ReadyData{c.kindName, c.source, c.target, true, refusal == ""}}
	if refusal != "" {
		result.Reason = "the content cannot move, expected that it can: " + refusal
	}
	return result, nil
}

// NewTaskResult is the result of New-SharePointMigrationTask.
type NewTaskResult struct {
	TaskID string `json:"TaskId"`
}

func (s service) newTask(ctx context.Context, p catalog.Params) (any, error) {
	c, err := readContent(p)
	if err != nil {
		return nil, err
	}
	job := catalog.JobOf(ctx)
	look := graph.Look{Path: c.findPath(), MayBeMissing: true, Shows: func(object map[string]any) (catalog.Shown, bool, error) {
		if object == nil {
			return catalog.Shown{Reason: "there is no task for " + c.source}, false, nil
		}
		t, err := readTask(object)
		if err != nil {
			return catalog.Shown{}, false, err
		}
		other := t.otherTarget(c)
		switch {
		case t.ended() && job.Redelivered && t.touchedSince(job.Enqueued):
			return catalog.Shown{}, false, conflict(fmt.Sprintf("the task of %s is %s since the job was sent: %s; retry the step to start another task", c.source, t.Status, t.why()))
		case t.ended():
			return catalog.Shown{Reason: fmt.Sprintf("the last task of %s is %s", c.source, t.Status)}, false, nil
		case other != "":
			return catalog.Shown{}, false, conflict(fmt.Sprintf("there is a task of %s to %s, in status %s: cancel it with Stop-SharePointMigrationTask first", c.source, other, t.Status))
		}
		return catalog.Shown{Answer: NewTaskResult{t.ID}, Met: true}, true, nil
	}}
	return catalog.Unless(ctx, func(wait catalog.Waiting) (catalog.Shown, error) { return s.graph.Look(ctx, look, wait) }, func() (bool, error) {
		return s.graph.Write(ctx, http.MethodPost, tasksPath, c.body(false))
	}, "the task was created, but SharePoint does not show it")
}

// TaskResult is the result of Test-SharePointMigrationTask.
type TaskResult struct {
	Complete bool     `json:"complete"`
	Reason   string   `json:"reason,omitempty"` // why it is not complete
	Data     TaskData `json:"data"`
}

// TaskData tells of the move of one source.
type TaskData struct {
	Kind, Source   string
	TaskID         string `json:"TaskId"`
	ExpectedStatus string
	Status         string
}

func (s service) testTask(ctx context.Context, p catalog.Params) (any, error) {
	c, err := readSource(p)
	if err != nil {
		return nil, err
	}
	object, err := s.graph.Read(ctx, c.findPath())
	if err != nil {
		return nil, err
	}
	t, err := readTask(object)
	if err != nil {
		return nil, err
	}
	data := TaskData{c.kindName, c.source, t.ID, cmp.Or(p.String("ExpectedStatus"), "completed"), t.Status}
	reason := fmt.Sprintf("the move of %s is %s, expected %s", c.source, t.Status, data.ExpectedStatus)
	switch {
	case t.is("failed"):
		return nil, &catalog.Failure{Type: catalog.FailureMigration, Attempts: 1, Message: reason + ": " + t.why()}
	case t.ended():
		return nil, &catalog.Failure{Type: catalog.FailureMigration, Attempts: 1, Message: reason}
	case t.completed(), t.is("inProgress") && data.ExpectedStatus == "inProgress":
		return TaskResult{Complete: true, Data: data}, nil
	}
	return TaskResult{Reason: reason, Data: data}, nil
}

func (s service) stopTask(ctx context.Context, p catalog.Params) (any, error) {
	c, err := readSource(p)
	if err != nil {
		return nil, err
	}
	var last task
	step := catalog.JobOf(ctx)
	look := graph.Look{Path: c.findPath(), MayBeMissing: true, Shows: func(object map[string]any) (catalog.Shown, bool, error) {
		if object == nil {
			return catalog.Shown{Answer: true, Met: true}, true, nil
		}
		t, err := readTask(object)
		switch {
		case err != nil:
			return catalog.Shown{}, false, err
		case t.completed():
			return catalog.Shown{}, false, conflict("the move of " + c.source + " is completed: the content is in the target, and cancelling does not bring it back")
		}
		last = t
		return catalog.Shown{Answer: true, Met: t.ended(), Reason: fmt.Sprintf("the move of %s is %s", c.source, t.Status)}, true, nil
	}}
	return catalog.Unless(ctx, func(wait catalog.Waiting) (catalog.Shown, error) { return s.graph.Look(ctx, look, wait) }, func() (bool, error) {
		if step.Redelivered && last.touchedSince(step.Enqueued) {
			return false, conflict(fmt.Sprintf("the task of %s is %s and was changed since the job was sent, perhaps created anew; retry the step to cancel it", c.source, last.Status))
		}
		return s.graph.Write(ctx, http.MethodPost, tasksPath+"/"+url.PathEscape(last.ID)+"/cancel", nil)
	}, "the task was cancelled, but SharePoint does not show it")
}

func conflict(text string) error {
	return &catalog.Failure{Type: catalog.FailureConflict, Attempts: 1, Message: text}
}
