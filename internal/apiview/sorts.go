package apiview

import (
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/store"
)

// sorting is how a list can be sorted, with the field in the store of each. Every item of
// the list has that field: an index of the store serves no other.
type sorting struct {
	api.SortFields
	fields map[string]store.Field
}

var (
	BatchSorting = sorting{api.BatchSorts, map[string]store.Field{
		"id": store.FieldID, "runbookName": store.FieldRunbookName, "status": store.FieldStatus, "batchStartTime": store.FieldStartTime,
		"detectedAt": store.FieldDetectedAt, "memberCount": store.FieldMemberCount,
	}}
	MemberSorting = sorting{api.MemberSorts, map[string]store.Field{
		"id": store.FieldID, "memberKey": store.FieldMemberKey, "status": store.FieldStatus, "addedAt": store.FieldAddedAt,
	}}
	StepSorting        = sorting{api.StepSorts, map[string]store.Field{"id": store.FieldID, "memberId": store.FieldMemberID}}
	RunbookSorting     = sorting{api.RunbookSorts, map[string]store.Field{"name": store.FieldName, "createdAt": store.FieldPublishedAt, "publishedBy": store.FieldPublishedBy}}
	VersionSorting     = sorting{api.VersionSorts, map[string]store.Field{"version": store.FieldVersion}}
	UnprocessedSorting = sorting{api.UnprocessedSorts, map[string]store.Field{"keptAt": store.FieldPlace, "topic": store.FieldTopic, "messageType": store.FieldMessageType}}
)

// sort gives the store's order for a list. Errors: CodeInvalid.
func (s sorting) sort(by string) (store.Sort, error) {
	if by == "" {
		by = s.Default
	}
	if !slices.Contains(s.Values(), by) {
		return store.Sort{}, problem.New(api.CodeInvalid, "this list cannot be sorted by %q; it can be by %s, each with - in front for the other way round", by, strings.Join(s.Names, ", "))
	}
	name, descending := strings.CutPrefix(by, "-")
	return store.Sort{By: s.fields[name], Descending: descending}, nil
}

// Paging gives what a list asks of the store. Errors: CodeInvalid.
func (s sorting) Paging(o api.ListOptions) (store.Paging, error) {
	sort, err := s.sort(o.Sort)
	return store.Paging{Limit: o.PageSize(), Continuation: o.Continuation, Sort: sort}, err
}
