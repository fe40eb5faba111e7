package store

import (
	"context"
	"encoding/json"
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
)

// Members are the named reads of a batch's members. Each is one query within the batch's
// partition, which costs about 3 RU and 1 RU for every 20 members that it returns, unless its
// comment says otherwise. All fail with ErrUnavailable.
type Members interface {
	// Members lists the members of a batch, by id unless Sort asks for another order: FieldID,
	// FieldMemberKey, FieldStatus or FieldAddedAt. It also fails with ErrContinuation.
	Members(ctx context.Context, batch int, filter MemberFilter, page Paging) (Page[model.Member], error)

	// MembersOfPage returns the members of one page of a batch, by id: at most model.PageSize,
	// so that the cost does not grow with the batch. With a status it returns only members in it.
	MembersOfPage(ctx context.Context, batch, page int, status model.MemberStatus) ([]Item[model.Member], error)

	// MembersByID returns those of the given members that the batch has, by id.
	MembersByID(ctx context.Context, batch int, ids []int) ([]Item[model.Member], error)

	// MemberValues returns the values that those of the given members who have a column have in it, by
	// member. It returns no other data of them, and takes one query for every 200 members.
	MemberValues(ctx context.Context, batch int, column string, ids []int) (map[int]json.RawMessage, error)

	// MembersByKey returns what a claim depends on of the members with the given keys, in any
	// order. Keys are compared exactly. More than one member can have a key: all but the last
	// were removed.
	MembersByKey(ctx context.Context, batch int, keys []string) ([]MemberClaim, error)

	// LastMember returns the highest id that a member of the batch has, and 0 if there is none.
	// It costs about 3 RU.
	LastMember(ctx context.Context, batch int) (int, error)

	// LeavingMembers returns the removed members whose removal steps have not been set going,
	// in any order: few, unless messages were lost.
	LeavingMembers(ctx context.Context, batch int) ([]Item[model.Member], error)

	// FailedMembers returns a projection of the members that have failed, in any order. It reads
	// all of them, so that the cost grows with their number: about 1 RU for every 20.
	FailedMembers(ctx context.Context, batch int) ([]FailedMember, error)

	// MemberProjections returns what a data source sync compares of every member of a batch, in
	// any order. The cost grows with the batch: about 1 RU for every 20 members.
	MemberProjections(ctx context.Context, batch int) ([]MemberProjection, error)
}

// MemberFilter narrows a list of members. An empty field takes all.
type MemberFilter struct {
	Statuses  []model.MemberStatus // in one of them
	KeyPrefix string               // compared exactly
	Text      string               // that Search contains, as model.FoldText gives it
}

// FailedMember is the part of a failed member that a repair selects by and is foreseen from.
type FailedMember struct {
	ID         int              `json:"memberId"`
	Page       int              `json:"page"`
	Key        string           `json:"key"`
	FailedIn   string           `json:"failedIn"`
	FailedStep string           `json:"failedStep"`
	FailedAs   model.StepStatus `json:"failedAs"`
	FailedBy   int              `json:"failedVersion"`
	Undone     bool             `json:"undone"`
	Error      string           `json:"error"`
	FailedAt   *time.Time       `json:"failedAt"`
}

// FailedMemberOf is the projection of a failed member.
func FailedMemberOf(m *model.Member) FailedMember {
	return FailedMember{
		ID: m.ID, Page: m.Page, Key: m.Key, FailedIn: m.FailedIn, FailedStep: m.FailedStep, FailedAs: m.FailedAs, FailedBy: m.FailedBy,
		Undone: m.Undone, Error: m.Error, FailedAt: m.FailedAt,
	}
}

// MemberClaim is the part of a member that decides whether a claim holds, and whether a person who is
// added again has corrections.
type MemberClaim struct {
	MemberPresence
	ID         int    `json:"id"`
	Key        string `json:"key"`
	Claim      string `json:"claim"`
	RemovedBy  string `json:"removedBy"`
	Overridden bool   `json:"overridden"` // the member has overrides

	MovedToBatch int `json:"movedToBatch"`
}

// MemberProjection is the part of a member that a data source sync compares.
type MemberProjection struct {
	MemberPresence
	ID        int    `json:"id"`
	Key       string `json:"key"`
	Hash      string `json:"hash"`
	RemovedBy string `json:"removedBy"`
	AddedBy   string `json:"addedBy"`

	RemovedAt *time.Time `json:"removedAt"`
	MovedTo   *time.Time `json:"movedTo"`

	MovedToBatch int `json:"movedToBatch"`
}

// MemberPresence is the part of a member that decides whether the batch has the member.
type MemberPresence struct {
	Status       model.MemberStatus `json:"status"`
	OpenPhase    int                `json:"openPhase"`
	Leaving      bool               `json:"leaving"`
	Removal      int                `json:"removal"`
	BusyUntil    *time.Time         `json:"busyUntil"`
	UndoingUntil *time.Time         `json:"undoingUntil"`
}

// StillLeaving reports whether a removed member has a run that has not ended, removal steps
// that have not been set going, or a job that an administrator no longer waits for and that
// may still run.
func (m MemberPresence) StillLeaving(now time.Time) bool {
	busy := model.Member{BusyUntil: m.BusyUntil, UndoingUntil: m.UndoingUntil}
	return m.Status == model.MemberRemoved && (m.OpenPhase > 0 || m.Leaving && m.Removal > 0 || busy.Busy(now))
}
