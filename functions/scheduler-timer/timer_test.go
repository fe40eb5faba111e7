package schedulertimer

import (
	"context"
	"errors"
	"testing"

	"github.com/matoolkit/matoolkit/internal/invocation"
)

type ticker func() error

func (t ticker) Tick(context.Context) error { return t() }

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
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			call, err := invocation.Decode([]byte(tc.envelope))
			if err != nil {
				t.Fatal(err)
			}
			ticks := 0
			err = New(ticker(func() error { ticks++; return away }))(t.Context(), call)
			if ticks != tc.ticks || err == nil || tc.ticks == 1 && err != away {
				t.Errorf("%d ticks, error %v", ticks, err)
			}
		})
	}
}
