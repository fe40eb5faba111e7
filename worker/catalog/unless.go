package catalog

import "context"

// Shown holds what a check read: its answer, and why that is not the result, unless it is met.
type Shown struct {
	Answer any
	Met    bool
	Reason string
}

// Waiting says for what a check is repeated for as long as a change may take to become visible.
type Waiting struct {
	Result  bool // the result, which may be there
	Absence bool // a result that a late read would show as well, such as an absence, before anything was written
}

// tries are how often a write with a check is made when no answer tells that it was made.
const tries = 3

// Unless makes a write unless the check shows its result, waits until it does, and answers what it shows. Where the
// write may have been made before, it waits first. write tells whether it may have been made although it failed;
// unseen is the text of the failure of a write whose result the check does not show.
func Unless(ctx context.Context, check func(Waiting) (Shown, error), write func() (uncertain bool, err error), unseen string) (any, error) {
	maybe := JobOf(ctx).Redelivered
	for try := 1; ; try++ {
		if shown, err := check(Waiting{Result: maybe, Absence: try == 1}); err != nil || shown.Met {
			return shown.Answer, err
		}
		uncertain, failed := write()
		if maybe = uncertain; uncertain && try < tries {
			continue
		}
		// It may be there although it failed: made before, with the answer lost.
		shown, err := check(Waiting{Result: failed == nil || uncertain})
		switch {
		case failed != nil && (err != nil || !shown.Met):
			return nil, failed
		case err != nil || shown.Met:
			return shown.Answer, err
		}
		return nil, &Failure{Type: FailureConflict, Message: unseen + ": " + shown.Reason, Attempts: try}
	}
}
