package app

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/matoolkit/matoolkit/internal/store"
)

// auditRecord tells of one change that somebody asked for.
type auditRecord struct {
	At     time.Time       `json:"at"`
	By     string          `json:"by"`               // Caller.Name
	Action string          `json:"action"`           // what was asked for: advance, create, …
	Target string          `json:"target,omitempty"` // of what in the batch; empty for the batch itself
	Why    string          `json:"why,omitempty"`
	Before json.RawMessage `json:"before,omitempty"`
	After  json.RawMessage `json:"after,omitempty"`
}

// AuditActions are the actions that a batch's audit trail can have.
var AuditActions = []string{
	"create", "advance", "cancel", "pause", "resume", "approve", "retry", "skip-step", "mark-done",
	"add-members", "remove-member", "confirm-removals", "discard-removals",
}

// auditTime is the time in a record's id: of fixed length, so that it sorts.
const auditTime = "20060102T150405.000000000Z"

// auditOp is the operation that stores a record. It belongs into the same commit as
// the change that it tells of, so that there is neither without the other; At and By
// are the caller's to fill in. Each call makes an operation with an id of its own.
func (a *App) auditOp(batch int, r auditRecord) store.Op {
	if !slices.Contains(AuditActions, r.Action) {
		panic("no audit action: " + r.Action) // only a constant of this package can be it
	}
	r.At = r.At.UTC()
	suffix := make([]byte, 6)
	_, _ = rand.Read(suffix) // it never fails
	return store.Create(store.AuditKey(batch, r.At.Format(auditTime)+"-"+hex.EncodeToString(suffix)), r)
}

// MaxWhy is how many characters the reason may have that somebody gives for what
// they ask for.
const MaxWhy = 1000

// checkWhy refuses a reason that is too long. It may be empty. Errors: CodeInvalid.
func checkWhy(why string) error {
	if n := utf8.RuneCountInString(why); n > MaxWhy {
		return fail(CodeInvalid, "the reason has %d characters; at most %d are taken", n, MaxWhy)
	}
	return nil
}

// AuditView is one line of a batch's audit trail. Before and After, where present,
// are what the change was from and to.
type AuditView struct {
	ID     string          `json:"id"`
	At     time.Time       `json:"at"`
	By     string          `json:"by"`
	Action string          `json:"action"`
	Target string          `json:"target,omitempty"` // of what in the batch; empty for the batch itself
	Why    string          `json:"reason,omitempty"`
	Before json.RawMessage `json:"before,omitempty"`
	After  json.RawMessage `json:"after,omitempty"`
}

// Audit lists what was changed in a batch by whom, the newest first; o.Action
// narrows it to one action. Errors: CodeNotFound, CodeInvalid for an action that there is
// not, CodeUnavailable.
func (a *App) Audit(ctx context.Context, batch int, o ListOptions) (Page[AuditView], error) {
	if _, err := a.batch(ctx, batch); err != nil {
		return Page[AuditView]{}, a.outward(err)
	}
	f := &filter{where: []string{"c.type = 'audit'"}}
	if o.Action != "" {
		if !slices.Contains(AuditActions, o.Action) {
			return Page[AuditView]{}, fail(CodeInvalid, "there is no action %q; there are %s", o.Action, strings.Join(AuditActions, ", "))
		}
		f.add("c.doc.action = @action", "@action", o.Action)
	}
	items, next, err := store.Query[auditRecord](ctx, a.store, store.BatchPartition(batch), f.text("DESC"), f.params, limit(o), o.Continuation)
	if err != nil {
		return Page[AuditView]{}, a.outward(err)
	}
	page := Page[AuditView]{Items: []AuditView{}, Continuation: next}
	for _, i := range items {
		r := i.Doc
		page.Items = append(page.Items, AuditView{
			ID: strings.TrimPrefix(i.ID, "audit-"), At: r.At, By: r.By, Action: r.Action, Target: r.Target, Why: r.Why,
			Before: r.Before, After: r.After,
		})
	}
	return page, nil
}
