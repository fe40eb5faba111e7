package admin

import (
	"fmt"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

func TestErrorsAreGroupedByStepAndText(t *testing.T) {
	t.Parallel()
	at := func(minute int) *time.Time { return new(time.Date(2026, 3, 9, 18, minute, 0, 0, time.UTC)) }
	failed := func(id int, step, text string, when *time.Time) store.FailedMember {
		return store.FailedMember{
			ID: id, Key: fmt.Sprintf("u%d@contoso.com", id), FailedIn: "move", FailedStep: step, FailedAs: model.StepFailed,
			Error: fmt.Sprintf("phase move: step %q: %s", step, text), FailedAt: when,
		}
	}
	got := groupErrors([]store.FailedMember{
		failed(3, "create", "user u3@contoso.com exists", at(5)),
		failed(1, "create", "user u1@contoso.com exists", at(7)),
		failed(2, "create", "the tenant is full", at(6)),
		failed(4, "switch", "user u4@contoso.com exists", at(9)),
		failed(5, "create", "user u5@contoso.com exists", nil), // failed before the time was kept
	})
	if got.Members != 5 || len(got.Groups) != 3 {
		t.Fatalf("%d members in %d groups: %+v", got.Members, len(got.Groups), got.Groups)
	}
	first := got.Groups[0]
	if first.ErrorGroup != "user … exists" || first.Count != 3 || !first.FirstAt.Equal(*at(5)) || !first.LastAt.Equal(*at(7)) || first.Step != "create" || first.Status != "failed" {
		t.Errorf("the largest group is %+v", first)
	}
	if want := fmt.Sprint([]api.ErrorExample{{ID: 1, Key: "u1@contoso.com", Error: "user u1@contoso.com exists"}, {ID: 3, Key: "u3@contoso.com", Error: "user u3@contoso.com exists"}, {ID: 5, Key: "u5@contoso.com", Error: "user u5@contoso.com exists"}}); fmt.Sprint(first.Examples) != want {
		t.Errorf("its examples are %v, want %v", first.Examples, want)
	}
	if got.Groups[1].ErrorGroup != "the tenant is full" || got.Groups[2].Step != "switch" {
		t.Errorf("the others are %+v", got.Groups[1:])
	}
}

func TestErrorGroupsAreBounded(t *testing.T) {
	t.Parallel()
	var members []store.FailedMember
	for i := range 1000 {
		members = append(members, store.FailedMember{ID: i + 1, Key: fmt.Sprint("m", i), FailedIn: "move", FailedStep: fmt.Sprint("step ", i%300), Error: "x"})
	}
	got := groupErrors(members)
	if len(got.Groups) != api.MaxErrorGroups || got.Members != 1000 {
		t.Errorf("%d groups of %d members", len(got.Groups), got.Members)
	}
}
