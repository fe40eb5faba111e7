package engine

import (
	"encoding/json"
	"maps"
	"reflect"

	"github.com/matoolkit/matoolkit/internal/engine/runstate"
	"github.com/matoolkit/matoolkit/internal/model"
)

// onMembersRefreshed gives members the data that their data source has now. Columns that only an
// older version of the runbook uses stay, and so do erased secrets. The open run of a member uses
// the data from its next dispatch on.
func onMembersRefreshed(s model.State, e model.MembersRefreshed) (d model.Decision, err error) {
	for _, r := range e.Members {
		m, err := s.LoadMember(r.Member)
		if err != nil {
			return model.Decision{}, err
		}
		next := *m
		next.Hash, next.Data = r.Hash, map[string]json.RawMessage{}
		maps.Copy(next.Data, m.Data)
		maps.Copy(next.Data, r.Data)
		for name, value := range m.Data {
			if sealed, ok := model.Sealed(value); ok && sealed == "" {
				next.Data[name] = value
			}
		}
		if reflect.DeepEqual(&next, m) {
			continue
		}
		d.Members = append(d.Members, &next)
		run, err := refreshOpenRun(s, &next)
		if err != nil {
			return model.Decision{}, err
		}
		if run != nil {
			d.Runs = append(d.Runs, run)
		}
	}
	d.Repeated = d.Empty()
	return d, nil
}

// refreshOpenRun returns the run that a member is in with the member's values; nil for none. A run
// that has not begun is written as it is: see runstate.CaptureVariables.
func refreshOpenRun(s model.State, m *model.Member) (*model.Run, error) {
	if m.OpenPhase == 0 {
		return nil, nil
	}
	run, err := s.LoadRun(m.OpenPhase, m.ID)
	if err != nil {
		return nil, err
	}
	if run == nil || run.Status.Terminal() { // the member was loaded before the run ended, or before it began
		return nil, model.ErrOutdated
	}
	next := run.Clone()
	if next.Status == model.RunWaiting {
		return next, nil
	}
	rb, err := s.LoadRunbook(next.Runbook, next.Version)
	if err != nil {
		return nil, err
	}
	return next, runstate.CaptureVariables(next, rb, m)
}
