package engine

import (
	"encoding/json"
	"maps"
	"reflect"

	"github.com/matoolkit/matoolkit/internal/engine/runstate"
	"github.com/matoolkit/matoolkit/internal/model"
)

// onMembersRefreshed gives members the data that their data source has now. Columns that the row
// lacks stay, and so do erased secrets. A column that an administrator corrected keeps the corrected
// value until the source has the same. The open run of a member uses the data from its next dispatch
// on.
func onMembersRefreshed(s model.State, e model.MembersRefreshed) (d model.Decision, err error) {
	for _, r := range e.Members {
		m, err := s.LoadMember(r.Member)
		if err != nil {
			return model.Decision{}, err
		}
		next := *m
		next.Hash, next.Data, next.Overrides = r.Hash, map[string]json.RawMessage{}, maps.Clone(m.Overrides)
		maps.Copy(next.Data, m.Data)
		for name, value := range r.Data {
			refreshColumn(&next, name, value)
		}
		dropEmpty(&next)
		if reflect.DeepEqual(&next, m) {
			continue
		}
		if err := changeMember(s, &d, e.Display, m, &next); err != nil {
			return model.Decision{}, err
		}
	}
	d.Repeated = d.Empty()
	return d, nil
}

// refreshColumn gives a member the value that the data source has of a column.
func refreshColumn(m *model.Member, name string, value json.RawMessage) {
	if sealed, ok := model.Sealed(m.Data[name]); ok && sealed == "" {
		return
	}
	o, corrected := m.Overrides[name]
	switch {
	case !corrected:
		m.Data[name] = value
	case model.SameValue(m.Data[name], value):
		delete(m.Overrides, name)
	default:
		o.Source = value
		m.Overrides[name] = o
	}
}

// dropEmpty removes the map of overrides where none is left.
func dropEmpty(m *model.Member) {
	if len(m.Overrides) == 0 {
		m.Overrides = nil
	}
}

// changeMember adds a member whose data changes to a decision, with the text by which the member is
// found, which the display column is part of, and with the run that the member is in
// where the change concerns it.
func changeMember(s model.State, d *model.Decision, display string, was, next *model.Member) error {
	next.NoteSearch(display)
	d.Members = append(d.Members, next)
	run, err := refreshOpenRun(s, was, next)
	if run != nil {
		d.Runs = append(d.Runs, run)
	}
	return err
}

// refreshOpenRun returns the run that a member is in with the member's values; nil where there is none
// or it uses no value that changed. A run that has not begun is written as it is: see
// runstate.CaptureVariables.
func refreshOpenRun(s model.State, was, m *model.Member) (*model.Run, error) {
	if m.OpenPhase == 0 {
		return nil, nil
	}
	run, err := s.LoadRun(m.OpenPhase, m.ID)
	if err != nil {
		return nil, err
	}
	if run == nil && m.OpenPhase == model.CheckPhase {
		return nil, nil // the checks are yet to be made, which write the member
	}
	if run == nil || run.Status.Terminal() { // the member was loaded before the run ended, or before it began
		return nil, model.ErrOutdated
	}
	rb, err := s.LoadRunbook(run.Runbook, run.Version)
	if err != nil {
		return nil, err
	}
	before, next := run.Clone(), run.Clone()
	if err := runstate.CaptureVariables(before, rb, was); err != nil {
		return nil, err
	}
	if err := runstate.CaptureVariables(next, rb, m); err != nil {
		return nil, err
	}
	if reflect.DeepEqual(before.Variables, next.Variables) {
		return nil, nil
	}
	if next.Status == model.RunWaiting {
		return run.Clone(), nil
	}
	return next, nil
}
