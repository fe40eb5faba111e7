package engine

import (
	"encoding/json"
	"maps"
	"reflect"

	"github.com/matoolkit/matoolkit/internal/model"
)

// onMembersRefreshed gives members the data that their data source has now. Columns that only an
// older version of the runbook uses stay, and so do erased secrets.
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
		if !reflect.DeepEqual(&next, m) {
			d.Members = append(d.Members, &next)
		}
	}
	d.Repeated = d.Empty()
	return d, nil
}
