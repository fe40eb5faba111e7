package errorgroup_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/matoolkit/matoolkit/internal/errorgroup"
)

func TestErrorsOfManyPeopleAreOneGroup(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		want  string
		texts []string
	}{
		{"object ids", "Resource … does not exist or one of its queried reference-property objects are not present. (Request_ResourceNotFound)", []string{
			"Resource '11111111-0000-4000-8000-000000000001' does not exist or one of its queried reference-property objects are not present. (Request_ResourceNotFound)",
			"Resource 'b2f1c3d4-aaaa-bbbb-cccc-0123456789ab' does not exist or one of its queried reference-property objects are not present. (Request_ResourceNotFound)",
		}},
		{"addresses", "the mailbox of … is locked", []string{"the mailbox of ada.l@contoso.example is locked", "the mailbox of bob+x@fabrikam.example is locked"}},
		{"quoted values", `department is …, expected …`, []string{`department is "Sales", expected "Navy"`, `department is "", expected "R & D"`}},
		{"numbers and times", "not complete after polling for …: try again at …", []string{
			"not complete after polling for 9m0s: try again at 2026-03-01T12:00:00Z", "not complete after polling for 1h0m0s: try again at 12:30",
		}},
		{"lists", "differs in …", []string{`differs in "a"`, `differs in "a", "b", 2`}},
		{"URLs", "GET … failed", []string{"GET https://graph.example/v1.0/users/7 failed", "GET http://127.0.0.1:80/x failed"}},
		{"the member's key", "no badge for …", []string{"no badge for Ada", "no badge  for Ada Lovelace"}},
		{"apostrophes", "the user's mailbox isn't ready", []string{"the user's mailbox isn't ready"}},
		{"a quotation after a number", "no …", []string{"no 1''", "no 12'x'"}},
		{"no names at all", "too many requests (Throttled)", []string{"too many requests (Throttled)"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, text := range tt.texts {
				if got := errorgroup.Of(text, "Ada", "Ada Lovelace", "", " "); got != tt.want {
					t.Errorf("the group of %q is %q, want %q", text, got, tt.want)
				}
				if !errorgroup.Same(tt.want, text, "Ada", "Ada Lovelace") {
					t.Errorf("%q is not of the group %q", text, tt.want)
				}
			}
		})
	}
}

func TestDifferentErrorsAreDifferentGroups(t *testing.T) {
	t.Parallel()
	if errorgroup.Same("no user ada@x.example", "no group ada@x.example") || errorgroup.Same("no (A)", "no (B)") {
		t.Error("different errors are one group")
	}
}

func TestGroupOfAGroupIsTheGroup(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a-c1 "'@.:…,/()-]{0,20}`).Draw(t, "text")
		group := errorgroup.Of(text)
		if again := errorgroup.Of(group); again != group {
			t.Fatalf("%q: the group of %q is %q", text, group, again)
		}
	})
}
