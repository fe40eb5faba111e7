package datasync

import (
	"errors"
	"fmt"
	"strings"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/datasource"
	"github.com/matoolkit/matoolkit/internal/humanize"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/schedule"
)

// maxErrorLength is how many characters of an error are stored and shown.
const maxErrorLength = 2000

// errOutOfTime ends a sync that takes too long. What it has applied stays, and the next tick
// goes on.
var errOutOfTime = fmt.Errorf("the data source sync took longer than %s; the next tick continues it", syncTime)

// errInactive ends a sync of a runbook that was deactivated meanwhile.
var errInactive = problem.New(api.CodeConflict, "no version of the runbook is active")

// subjectError is an error with the batch that it is about.
type subjectError struct {
	subject string
	error
}

func (e *subjectError) Error() string { return e.subject + ": " + e.error.Error() }

func (e *subjectError) Unwrap() error { return e.error }

// publicMessage gives the text of an error that administrators read: errors of their query and
// data as they are, internal errors in general words.
func publicMessage(err error) string {
	var source *datasource.Error
	var columns *schedule.ColumnsError
	if errors.Is(err, errOutOfTime) {
		return errOutOfTime.Error()
	}
	switch one := err.(type) {
	case interface{ Unwrap() []error }:
		var all []string
		for _, e := range one.Unwrap() {
			all = append(all, publicMessage(e))
		}
		return clip(strings.Join(all, "; "))
	case *subjectError:
		return one.subject + ": " + publicMessage(one.error)
	}
	switch {
	case errors.As(err, &source):
		return clip(source.Error())
	case errors.As(err, &columns):
		return clip(columns.Error())
	}
	return clip(problem.Explain(err).Message) // the log has the cause
}

func clip(text string) string { return humanize.Clip(text, maxErrorLength) }
