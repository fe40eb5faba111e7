package engine

import (
	"encoding/json"
	"maps"
	"reflect"
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
)

// onMemberCorrected gives a member the values of an administrator. In a batch from a data source it
// notes what the source has, so that a sync does not undo the correction. The open run of the member
// uses the values from its next dispatch on.
func onMemberCorrected(s model.State, e model.MemberCorrected, now time.Time) (model.Decision, error) {
	b, err := s.LoadBatch()
	if err != nil {
		return model.Decision{}, err
	}
	m, err := s.LoadMember(e.Member)
	if err != nil {
		return model.Decision{}, err
	}
	next, err := Correct(b, m, e, now)
	if err != nil {
		return model.Decision{}, err
	}
	if reflect.DeepEqual(next, m) {
		return model.Decision{Repeated: true}, nil
	}
	var d model.Decision
	if err := changeMember(s, &d, b.Display, m, next); err != nil {
		return model.Decision{}, err
	}
	if b.Status.Terminal() && setsSecret(e) { // the secrets of the batch may be erased: this one is to be erased later, too
		d.Batch = b.Clone()
		d.Batch.Revision++
		d.Batch.Secrets, d.Batch.SecretsSuppliedAt = true, &now
	}
	return d, nil
}

// Correct gives a member as a correction leaves them. It changes nothing. It refuses what
// RefuseCorrection refuses.
func Correct(b *model.Batch, m *model.Member, e model.MemberCorrected, now time.Time) (*model.Member, error) {
	if err := RefuseCorrection(b, m); err != nil {
		return nil, err
	}
	next := *m
	if next.Data, next.Overrides = maps.Clone(m.Data), maps.Clone(m.Overrides); next.Data == nil {
		next.Data = map[string]json.RawMessage{}
	}
	for _, name := range e.ClearOverrides {
		clearOverride(&next, name)
	}
	for name, value := range e.Set {
		correctColumn(b, &next, name, value, model.Override{By: e.By, At: now})
	}
	dropEmpty(&next)
	return &next, nil
}

// setsSecret reports whether a correction gives a secret.
func setsSecret(e model.MemberCorrected) bool {
	for _, value := range e.Set {
		if _, sealed := model.Sealed(value); sealed {
			return true
		}
	}
	return false
}

// correctColumn gives a column the value of an administrator. By has who, and when.
func correctColumn(b *model.Batch, m *model.Member, name string, value json.RawMessage, by model.Override) {
	if model.SameValue(m.Data[name], value) {
		return
	}
	o, corrected := m.Overrides[name]
	switch {
	case !b.FollowsSource():
	case corrected && model.SameValue(o.Source, value):
		delete(m.Overrides, name)
	default:
		if by.Source = m.Data[name]; corrected {
			by.Source = o.Source
		}
		if m.Overrides == nil {
			m.Overrides = map[string]model.Override{}
		}
		m.Overrides[name] = by
	}
	m.Data[name] = value
}

// clearOverride gives a corrected column the value back that the data source has.
func clearOverride(m *model.Member, name string) {
	o, corrected := m.Overrides[name]
	if !corrected {
		return
	}
	if m.Data[name] = o.Source; o.Source == nil {
		delete(m.Data, name)
	}
	delete(m.Overrides, name)
}

// RefuseCorrection refuses to correct a member whose data no step can use any more; nil otherwise.
func RefuseCorrection(b *model.Batch, m *model.Member) error {
	switch {
	case m.Status == model.MemberRemoved && m.OpenPhase == 0 && !m.Leaving:
		return model.Refusef("%s of batch %d was removed: no step uses the data any more", m.Label(), b.ID)
	case b.Status == model.BatchCancelled:
		return model.Refusef("batch %d is cancelled: no step uses the data of its members any more", b.ID)
	case b.Status.Terminal() && m.Status != model.MemberFailed:
		return model.Refusef("batch %d has ended (%s) and %s has not failed: no step uses the data any more", b.ID, b.Status, m.Label())
	}
	return nil
}
