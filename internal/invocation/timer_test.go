package invocation

import (
	"context"
	"errors"
	"testing"
)

func TestAFiringIsOneTick(t *testing.T) {
	t.Parallel()
	away := errors.New("the store is away")
	for name, tc := range map[string]struct {
		envelope string
		ticks    int
	}{
		"on time":         {`{"Data":{"timer":{"IsPastDue":false}}}`, 1},
		"past due":        {`{"Data":{"timer":{"IsPastDue":true,"ScheduleStatus":null}}}`, 1},
		"no timer at all": {`{"Data":{"message":""}}`, 0},
		"another timer":   {`{"Data":{"other":{"IsPastDue":false}}}`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			call, err := Decode([]byte(tc.envelope))
			if err != nil {
				t.Fatal(err)
			}
			ticks := 0
			err = OnTimer("timer", func(context.Context) error { ticks++; return away })(t.Context(), call)
			if ticks != tc.ticks || err == nil || (err == away) != (tc.ticks == 1) {
				t.Errorf("%d ticks, error %v", ticks, err)
			}
		})
	}
}
