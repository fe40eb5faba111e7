package app

import (
	"slices"
	"strings"
)

// Sorts are the fields that a list can be sorted by, as its view names them. Each is one
// path that every item of the list has, for an index of the store serves no more.
type Sorts struct {
	fields []sortField
	usual  string // what a list is sorted by that is not asked to be
}

type sortField struct{ name, path string }

// The lists that can be sorted. Times are compared to the second; letters by their code,
// capitals first.
var (
	BatchSorts = Sorts{[]sortField{
		{"id", "c.id"},
		{"runbookName", "c.doc.runbookName"},
		{"status", "c.doc.status"},
		{"batchStartTime", "c.doc.batchStartTime"},
		{"detectedAt", "c.doc.detectedAt"},
		{"memberCount", "c.doc.memberCount"},
	}, "-id"}
	MemberSorts = Sorts{[]sortField{
		{"id", "c.id"},
		{"memberKey", "c.doc.key"},
		{"status", "c.doc.status"},
		{"addedAt", "c.doc.addedAt"},
	}, "id"}
	// StepSorts sort the runs that the steps are of; the id is the phase's and the member's.
	StepSorts = Sorts{[]sortField{
		{"id", "c.id"},
		{"memberId", "c.doc.memberId"},
	}, "id"}
	RunbookSorts = Sorts{[]sortField{
		{"name", "c.doc.name"},
		{"createdAt", "c.doc.publishedAt"},
		{"publishedBy", "c.doc.publishedBy"},
	}, "name"}
	VersionSorts = Sorts{[]sortField{
		{"version", "c.doc.version"},
	}, "-version"}
	UnprocessedSorts = Sorts{[]sortField{
		{"keptAt", "c.doc.place"},
		{"topic", "c.doc.topic"},
		{"messageType", "c.doc.messageType"},
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

// clause is the ORDER BY of a query. Errors: CodeInvalid.
func (s Sorts) clause(by string) (string, error) {
	if err := s.Check(by); err != nil {
		return "", err
	}
	if by == "" {
		by = s.usual
	}
	direction := "ASC"
	if strings.HasPrefix(by, "-") {
		by, direction = by[1:], "DESC"
	}
	i := slices.IndexFunc(s.fields, func(f sortField) bool { return f.name == by })
	return " ORDER BY " + s.fields[i].path + " " + direction, nil
}
