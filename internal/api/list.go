package api

// ListOptions selects one page of a list.
type ListOptions struct {
	Limit        int      // 1 to 1000; 0 means 100
	Continuation string   // as the previous page gave it
	Statuses     []string // only items with one of these statuses; empty for all
	Runbook      string   // batches only
	Name, Owner  string   // batches only, in any case; of the names, those that were given
	Phase        string   // steps only
	Member       int      // steps only; 0 for all
	MemberRef    string   // of a client, in place of Member: the key or the number of a member
	Topic        string   // unprocessable messages only
	Sort         string   // one of the list's SortFields, with - in front for descending; empty for its default order
	Include      []string // steps only: fields that a list otherwise leaves out, of StepFields
	Search       string   // only items whose name has this prefix, case-sensitive: a batch's runbook, a member's key, a runbook
}

// PageSize is how many items a page has: Limit within its bounds.
func (o ListOptions) PageSize() int {
	if o.Limit <= 0 {
		return 100
	}
	return min(o.Limit, 1000)
}

// What a GET has only if its parameter include names it.
var (
	StepFields  = []string{"params", "result"} // of the steps of a list
	BatchFields = []string{"phases"}
)

// SortFields are the fields that a list can be sorted by, as its items name them.
type SortFields struct {
	Names   []string
	Default string // the order of a list for which none is requested
}

// The lists that can be sorted. Times are compared to the second; letters by their code,
// capitals first.
var (
	BatchSorts  = SortFields{[]string{"id", "runbook", "status", "batchStartTime", "detectedAt", "memberCount"}, "-id"}
	MemberSorts = SortFields{[]string{"id", "memberKey", "status", "addedAt"}, "id"}
	// StepSorts sort the runs that the steps are of; the id is the phase's and the member's.
	StepSorts          = SortFields{[]string{"id", "memberId"}, "id"}
	RunbookSorts       = SortFields{[]string{"name", "createdAt", "publishedBy"}, "name"}
	VersionSorts       = SortFields{[]string{"version"}, "-version"}
	UnprocessableSorts = SortFields{[]string{"storedAt", "topic", "messageType"}, "-storedAt"}
)

// Values are all valid values of ListOptions.Sort but the empty one: each field, and each
// with - in front for descending.
func (s SortFields) Values() []string {
	var values []string
	for _, name := range s.Names {
		values = append(values, name, "-"+name)
	}
	return values
}
