package app_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/problem"
)

func TestSpecificationWorkersWhoseIDsDifferOnlyInCaseAreRefused(t *testing.T) {
	t.Parallel()
	now := epoch
	w := newWorldAt(t, func() time.Time { return now })
	w.announce(catalogOf("Worker-EU.2", epoch, "F"))
	w.announce(catalogOf("worker-eu.2", epoch.Add(time.Minute), "G"))
	if got := w.functionsOf("Worker-EU.2"); got != "F" {
		t.Errorf("the first worker has %s", got)
	}
	if _, err := w.app.Worker(w.ctx, "worker-eu.2"); problem.CodeOf(err) != api.CodeNotFound {
		t.Errorf("the second worker: %v", err)
	}
	page := must(w.app.UnprocessableMessages(w.ctx, api.ListOptions{}))(t)
	if len(page.Items) != 1 || !strings.Contains(page.Items[0].Reason, `differs only in case from that of the worker "Worker-EU.2"`) {
		t.Errorf("unprocessable messages: %+v", page.Items)
	}

	runbook := strings.ReplaceAll(typed, "worker_id: w", "worker_id: worker-eu.2")
	_, err := w.app.PublishRunbook(w.ctx, ada, "", []byte(runbook), api.PublishOptions{})
	var e *problem.Error
	if !errors.As(err, &e) || len(e.Problems) != 1 || e.Problems[0].Code != "worker-case" || e.Problems[0].Line != 7 || !strings.Contains(e.Problems[0].Message, `the worker is "Worker-EU.2"`) {
		t.Errorf("a runbook that names the other: %v", err)
	}
	w.publish(strings.ReplaceAll(typed, "worker_id: w", "worker_id: Worker-EU.2"))

	now = now.Add(2 * time.Hour)
	w.announce(catalogOf("worker-eu.2", now, "G"))
	if got := w.functionsOf("worker-eu.2"); got != "G" {
		t.Errorf("after the first was away for two hours, the second has %s", got)
	}
}
