package catalog_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/matoolkit/matoolkit/worker/catalog"
)

func TestUnless(t *testing.T) {
	t.Parallel()
	first, last, plain := catalog.Waiting{Absence: true}, catalog.Waiting{Result: true}, catalog.Waiting{}
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		redelivered bool
		met         []bool // by check; the last one holds on
		uncertain   bool
		fails       error
		waits       []catalog.Waiting
		writes      int
		ok          bool
	}{
		"the result is there":                    {met: []bool{true}, waits: []catalog.Waiting{first}, ok: true},
		"it is written":                          {met: []bool{false, true}, waits: []catalog.Waiting{first, last}, writes: 1, ok: true},
		"written before, a redelivery waits":     {redelivered: true, met: []bool{true}, waits: []catalog.Waiting{{Result: true, Absence: true}}, ok: true},
		"the result is never shown":              {met: []bool{false}, waits: []catalog.Waiting{first, last}, writes: 1},
		"the write fails":                        {met: []bool{false}, fails: broken, waits: []catalog.Waiting{first, plain}, writes: 1},
		"its answer is lost, and it was made":    {met: []bool{false, true}, fails: broken, uncertain: true, waits: []catalog.Waiting{first, last}, writes: 1, ok: true},
		"its answer is lost each of three times": {met: []bool{false}, fails: broken, uncertain: true, waits: []catalog.Waiting{first, last, last, last}, writes: 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var waits []catalog.Waiting
			writes := 0
			_, err := catalog.Unless(catalog.WithJob(t.Context(), catalog.Job{Redelivered: c.redelivered}), func(w catalog.Waiting) (catalog.Shown, error) {
				waits = append(waits, w)
				return catalog.Shown{Met: c.met[min(len(waits), len(c.met))-1]}, nil
			}, func() (bool, error) {
				writes++
				return c.uncertain, c.fails
			}, "not shown")
			if !slices.Equal(waits, c.waits) || writes != c.writes || (err == nil) != c.ok {
				t.Errorf("checks %+v, %d writes, %v; want %+v, %d, success %v", waits, writes, err, c.waits, c.writes, c.ok)
			}
		})
	}
}
