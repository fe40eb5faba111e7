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
		{[]string{signin.RoleOperator}, []signin.Permission{signin.Read, signin.Operate}},
		{[]string{signin.RoleApprover}, []signin.Permission{signin.Read, signin.Approve}},
		{[]string{signin.RoleOperator, signin.RoleApprover}, []signin.Permission{signin.Read, signin.Operate, signin.Approve}},
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
