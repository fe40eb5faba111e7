package problem_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/secret"
	"github.com/matoolkit/matoolkit/internal/store"
)

// TestExplain checks that each error of a use case gets a code and a text for the caller, without its
// cause.
func TestExplain(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err  error
		code api.Code
		says string
	}{
		{&problem.Error{Code: api.CodeNotFound, Message: "there is no batch 7"}, api.CodeNotFound, "there is no batch 7"},
		{&model.Refusal{Reason: "batch 7 has ended"}, api.CodeConflict, "batch 7 has ended"},
		{fmt.Errorf("%w: %w", &model.NotFound{Batch: 7}, store.ErrNotFound), api.CodeNotFound, "there is no batch 7"},
		{&model.NotFound{Batch: 7, Member: 3}, api.CodeNotFound, "batch 7 has no member 3"},
		{model.ErrNotYet, api.CodeConflict, "try again in a moment"},
		{secret.ErrUnavailable, api.CodeUnavailable, "encryption key"},
		{store.ErrUnavailable, api.CodeUnavailable, "store or broker"},
		{bus.ErrUnavailable, api.CodeUnavailable, "store or broker"},
		{context.DeadlineExceeded, api.CodeUnavailable, "store or broker"},
		{store.ErrChanged, api.CodeUnavailable, "try again"},
		{store.ErrLater, api.CodeUnavailable, "a later version of the handler"},
		{store.ErrContinuation, api.CodeInvalid, "continuation token"},
		{store.ErrRefused, api.CodeUnstorable, "refuses"},
		{store.ErrFull, api.CodeFull, "partition is full"},
		{store.ErrTooLarge, api.CodeTooLarge, "too large"},
		{errors.New("index out of range"), api.CodeInternal, "internal error"},
	} {
		err := fmt.Errorf("10.0.0.4: %w", tt.err)
		e := problem.Explain(err)
		if e.Code != tt.code || problem.CodeOf(err) != tt.code || !strings.Contains(e.Message, tt.says) || strings.Contains(e.Message, "10.0.0.4") {
			t.Errorf("%v: %s: %s", err, e.Code, e.Message)
		}
	}
}
