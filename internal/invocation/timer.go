package invocation

import "context"

// OnTimer makes the function of a timer trigger from its tick, which may come late, twice or together with another.
// A firing that is past due is a tick like any other: a tick does all work that is due now, so that missed occurrences
// need no repetition.
func OnTimer(binding string, tick func(ctx context.Context) error) Func {
	return func(ctx context.Context, call *Call) error {
		if _, err := call.Timer(binding); err != nil {
			return err
		}
		return tick(ctx)
	}
}
