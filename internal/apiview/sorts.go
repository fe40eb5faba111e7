package apiview

import (
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/store"
)

// Sorting has the orders of a list, with the field of the store for each. Every item of the list has
// these fields: an index of the store leaves out items without them.
type Sorting struct {
	api.SortFields
	fields map[string]store.Field
}

// The sorting of each list.
var (
	BatchSorting = Sorting{api.BatchSorts, map[string]store.Field{
		"id": store.FieldID, "runbook": store.FieldRunbookName, "status": store.FieldStatus, "batchStartTime": store.FieldStartTime,
		"detectedAt": store.FieldDetectedAt, "memberCount": store.FieldMemberCount,
	}}
	MemberSorting = Sorting{api.MemberSorts, map[string]store.Field{
		"id": store.FieldID, "memberKey": store.FieldMemberKey, "status": store.FieldStatus, "addedAt": store.FieldAddedAt,
	}}
	StepSorting          = Sorting{api.StepSorts, map[string]store.Field{"id": store.FieldID, "memberId": store.FieldMemberID}}
	RunbookSorting       = Sorting{api.RunbookSorts, map[string]store.Field{"name": store.FieldName, "createdAt": store.FieldPublishedAt, "publishedBy": store.FieldPublishedBy}}
	VersionSorting       = Sorting{api.VersionSorts, map[string]store.Field{"version": store.FieldVersion}}
	UnprocessableSorting = Sorting{api.UnprocessableSorts, map[string]store.Field{"storedAt": store.FieldPlace, "topic": store.FieldTopic, "messageType": store.FieldMessageType}}
)

// Paging gives the page of the store for the options of a list. Errors: CodeInvalid.
func (s Sorting) Paging(o api.ListOptions) (store.Paging, error) {
	order, err := s.order(o.Sort)
	return store.Paging{Limit: o.PageSize(), Continuation: o.Continuation, Sort: order}, err
}

// order gives the order of the store by its name in the API. Errors: CodeInvalid.
func (s Sorting) order(by string) (store.Sort, error) {
	if by == "" {
		by = s.Default
	}
	if !slices.Contains(s.Values(), by) {
		return store.Sort{}, problem.New(api.CodeInvalid, "cannot sort by %q; use one of %s, with - in front for descending order", by, strings.Join(s.Names, ", "))
	}
	name, descending := strings.CutPrefix(by, "-")
	return store.Sort{By: s.fields[name], Descending: descending}, nil
}
