package store

// Paging asks for one page of a list.
type Paging struct {
	Limit        int    // the most items to return, from 1
	Continuation string // as the page before returned it; empty for the first page
	Sort         Sort   // the order of the list; the zero value is the list's usual order
}

// Sort is the order of a list. Values are compared by their type first (null, boolean, number,
// text), text by its bytes. Times are stored as text, so that their order is exact to the
// second. Items with equal values come in any order.
type Sort struct {
	By         Field // one of the fields that the list names; empty for the list's usual order
	Descending bool
}

// Field is a field that a list can be sorted by, as the stored document names it.
type Field string

// The fields. FieldID is the document's id, every other one a field of Doc.
const (
	FieldID          Field = "id"
	FieldRunbookName Field = "runbookName"
	FieldStatus      Field = "status"
	FieldStartTime   Field = "batchStartTime"
	FieldDetectedAt  Field = "detectedAt"
	FieldMemberCount Field = "memberCount"
	FieldMemberKey   Field = "key"
	FieldAddedAt     Field = "addedAt"
	FieldMemberID    Field = "memberId"
	FieldName        Field = "name"
	FieldPublishedAt Field = "publishedAt"
	FieldPublishedBy Field = "publishedBy"
	FieldVersion     Field = "version"
	FieldPlace       Field = "place"
	FieldTopic       Field = "topic"
	FieldMessageType Field = "messageType"
)

// Page is one page of a list. Continuation is empty on the last page. A page can be shorter
// than the limit, and only the last one can be empty.
type Page[T any] struct {
	Items        []Item[T]
	Continuation string
}

// Collect returns the items of all pages of a list.
func Collect[T any](list func(Paging) (Page[T], error)) ([]Item[T], error) {
	var items []Item[T]
	for paging := (Paging{Limit: 1000}); ; {
		page, err := list(paging)
		if err != nil {
			return nil, err
		}
		items = append(items, page.Items...)
		if paging.Continuation = page.Continuation; paging.Continuation == "" {
			return items, nil
		}
	}
}
