package app

import (
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/internal/store"
)

// Sorts are the fields that a list can be sorted by, as its view names them. Each is one
// field that every item of the list has: an index of the store serves no more.
type Sorts struct {
	fields []sortField
	usual  string // what a list is sorted by that is not asked to be
}

type sortField struct {
	name string
	by   store.Field
}

// The lists that can be sorted. Times are compared to the second; letters by their code,
// capitals first.
var (
	BatchSorts = Sorts{[]sortField{
		{"id", store.FieldID},
		{"runbookName", store.FieldRunbookName},
		{"status", store.FieldStatus},
		{"batchStartTime", store.FieldStartTime},
		{"detectedAt", store.FieldDetectedAt},
		{"memberCount", store.FieldMemberCount},
	}, "-id"}
	MemberSorts = Sorts{[]sortField{
		{"id", store.FieldID},
		{"memberKey", store.FieldMemberKey},
		{"status", store.FieldStatus},
		{"addedAt", store.FieldAddedAt},
	}, "id"}
	// StepSorts sort the runs that the steps are of; the id is the phase's and the member's.
	StepSorts = Sorts{[]sortField{
		{"id", store.FieldID},
		{"memberId", store.FieldMemberID},
	}, "id"}
	RunbookSorts = Sorts{[]sortField{
		{"name", store.FieldName},
		{"createdAt", store.FieldPublishedAt},
		{"publishedBy", store.FieldPublishedBy},
	}, "name"}
	VersionSorts = Sorts{[]sortField{
		{"version", store.FieldVersion},
	}, "-version"}
	UnprocessedSorts = Sorts{[]sortField{
		{"keptAt", store.FieldPlace},
		{"topic", store.FieldTopic},
		{"messageType", store.FieldMessageType},
	}, "-keptAt"}
)

// Fields are the names of the fields.
func (s Sorts) Fields() []string {
	names := make([]string, len(s.fields))
	for i, f := range s.fields {
		names[i] = f.name
	}
	return names
}

// Values are all that a list can be asked to be sorted by: each field, and each with a -
// in front, which turns the order round.
func (s Sorts) Values() []string {
	var values []string
	for _, f := range s.fields {
		values = append(values, f.name, "-"+f.name)
	}
	return values
}

// Check refuses what the list cannot be sorted by. Errors: CodeInvalid.
func (s Sorts) Check(by string) error {
	if by != "" && !slices.Contains(s.Values(), by) {
		return fail(CodeInvalid, "this list cannot be sorted by %q; it can be by %s, each with - in front for the other way round", by, strings.Join(s.Fields(), ", "))
	}
	return nil
}

// sort gives the store's order for a list. Errors: CodeInvalid.
func (s Sorts) sort(by string) (store.Sort, error) {
	if err := s.Check(by); err != nil {
		return store.Sort{}, err
	}
	if by == "" {
		by = s.usual
	}
	name, descending := strings.CutPrefix(by, "-")
	i := slices.IndexFunc(s.fields, func(f sortField) bool { return f.name == name })
	return store.Sort{By: s.fields[i].by, Descending: descending}, nil
}

// paging gives what a list asks of the store. Errors: CodeInvalid.
func (s Sorts) paging(o ListOptions) (store.Paging, error) {
	sort, err := s.sort(o.Sort)
	return store.Paging{Limit: limit(o), Continuation: o.Continuation, Sort: sort}, err
}

// clause is the ORDER BY of a query. Errors: CodeInvalid.
func (s Sorts) clause(by string) (string, error) {
	sort, err := s.sort(by)
	path, direction := "c.doc."+string(sort.By), "ASC"
	if sort.By == store.FieldID {
		path = "c.id"
	}
	if sort.Descending {
		direction = "DESC"
	}
	return " ORDER BY " + path + " " + direction, err
}
