package containerscaler

import (
	"context"
	"errors"
	"testing"

	"github.com/matoolkit/matoolkit/internal/invocation"
)

type scaler func() error

func (s scaler) ScaleContainers(context.Context) error { return s() }

func TestAFiringIsOneTick(t *testing.T) {
	t.Parallel()
	off := errors.New("the scaler is off")
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
			err = New(scaler(func() error { ticks++; return off }))(t.Context(), call)
			if ticks != tc.ticks || err == nil || tc.ticks == 1 && err != off {
				t.Errorf("%d ticks, error %v", ticks, err)
			}
		})
	}
}
