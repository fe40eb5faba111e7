package signin_test

import (
	"slices"
	"testing"

	"github.com/matoolkit/matoolkit/internal/signin"
)

func TestWhatRolesGrant(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		roles []string
		want  []signin.Permission
	}{
		{nil, []signin.Permission{signin.Read}},
		{[]string{"Strange"}, []signin.Permission{signin.Read}},
		{[]string{signin.RoleReader}, []signin.Permission{signin.Read}},
		{[]string{signin.RoleRequester}, []signin.Permission{signin.Request}},
		{[]string{signin.RoleRequester, "Strange"}, []signin.Permission{signin.Request}},
		{[]string{signin.RoleRequester, signin.RoleReader}, []signin.Permission{signin.Read, signin.Request}},
		{[]string{signin.RoleRequesterForAll}, []signin.Permission{signin.Request, signin.RequestForAll}},
		{[]string{signin.RoleOperator}, []signin.Permission{signin.Read, signin.Request, signin.RequestForAll, signin.Operate}},
		{[]string{signin.RoleApprover}, []signin.Permission{signin.Read, signin.Approve}},
		{[]string{signin.RoleOperator, signin.RoleApprover}, []signin.Permission{signin.Read, signin.Request, signin.RequestForAll, signin.Operate, signin.Approve}},
		{[]string{signin.RoleReader, signin.RoleAdmin}, signin.Permissions},
	} {
		if got := (signin.Identity{Roles: c.roles}).Permissions(); !slices.Equal(got, c.want) {
			t.Errorf("%q may %q, want %q", c.roles, got, c.want)
		}
	}
	if got := signin.Granting(signin.Operate); !slices.Equal(got, []string{signin.RoleOperator, signin.RoleAdmin}) {
		t.Errorf("to operate takes one of %q", got)
	}
}

func TestWhomRequestsAreFor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		role, owner string
		reads, does bool
	}{
		{signin.RoleRequester, "ann@contoso.example", true, true},
		{signin.RoleRequester, "Ann@Contoso.example", true, true},
		{signin.RoleRequester, "bob@contoso.example", false, false},
		{signin.RoleRequester, "", false, false},
		{signin.RoleRequesterForAll, "bob@contoso.example", true, true},
		{signin.RoleReader, "ann@contoso.example", true, false},
		{signin.RoleReader, "bob@contoso.example", true, false},
		{signin.RoleApprover, "ann@contoso.example", true, false},
		{signin.RoleOperator, "bob@contoso.example", true, true},
		{signin.RoleAdmin, "bob@contoso.example", true, true},
	} {
		i := signin.Identity{Name: "Ann Lee", Owner: "ann@contoso.example", Roles: []string{c.role}}
		if reads, does := i.MayFor(signin.Read, c.owner), i.MayFor(signin.RequestForAll, c.owner); reads != c.reads || does != c.does {
			t.Errorf("%s, for %q: reads %v, requests %v", c.role, c.owner, reads, does)
		}
	}
}

// A token without a sign-in name has no owner: a display name can be that of another person.
func TestADisplayNameIsNoOwner(t *testing.T) {
	t.Parallel()
	i := signin.Identity{Name: "Ann Lee", Roles: []string{signin.RoleRequester}}
	for _, owner := range []string{"", "Ann Lee"} {
		if i.MayFor(signin.RequestForAll, owner) || i.MayFor(signin.Read, owner) {
			t.Errorf("the owner %q", owner)
		}
	}
}
