package permission_test

import (
	"encoding/base64"
	"slices"
	"testing"

	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/permission"
)

func TestGranted(t *testing.T) {
	t.Parallel()
	token := func(claims string) string { return "h." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".s" }
	if got, err := permission.Granted(token(`{"roles":["User.Read.All","Mail.Send"],"tid":"t"}`)); err != nil || !slices.Equal(got, []string{"User.Read.All", "Mail.Send"}) {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err := permission.Granted(token(`{}`)); err != nil || len(got) > 0 {
		t.Errorf("without roles: %v, %v", got, err)
	}
	for _, broken := range []string{"", "opaque", "a.!.c", token("[]"), token("x")} {
		if got, err := permission.Granted(broken); err == nil {
			t.Errorf("%q: %v", broken, got)
		}
	}
}

func TestMissing(t *testing.T) {
	t.Parallel()
	f := catalog.Function{Permissions: []string{"User.Read.All", "GroupMember.Read.All", "Exchange.ManageAsApp", "The directory role that the cmdlet needs"}}
	app := []string{"Exchange.ManageAsApp"}
	for _, tt := range []struct{ graph, exchange, want []string }{
		{nil, nil, []string{"User.Read.All", "GroupMember.Read.All", "Exchange.ManageAsApp"}},
		{[]string{"User.Read.All", "GroupMember.Read.All"}, app, nil},
		{[]string{"User.ReadWrite.All", "GroupMember.ReadWrite.All"}, app, nil},
		{[]string{"Directory.Read.All"}, app, nil},
		{[]string{"Directory.ReadWrite.All"}, nil, app},
		{[]string{"Group.ReadWrite.All", "Mail.Send"}, nil, []string{"User.Read.All", "Exchange.ManageAsApp"}},
		{[]string{"User.Read", "GroupMember.Read.Al"}, []string{"exchange.manageasapp"}, f.Permissions[:3]},
		{[]string{"User.Read.All", "GroupMember.Read.All", "Exchange.ManageAsApp"}, nil, app},
		{nil, []string{"User.Read.All", "GroupMember.Read.All", "Exchange.ManageAsApp"}, f.Permissions[:2]},
	} {
		if got := permission.Missing(permission.Grants{Graph: tt.graph, Exchange: tt.exchange}, f); !slices.Equal(got, tt.want) {
			t.Errorf("%v and %v: missing %v, want %v", tt.graph, tt.exchange, got, tt.want)
		}
	}
	if permission.Includes([]string{"Directory.ReadWrite.All"}, "User.ReadWrite.All") {
		t.Error("writing the directory includes deleting users")
	}
	if permission.Includes([]string{"User.Read.All"}, "User.ReadWrite.All") {
		t.Error("reading includes writing")
	}
	if !permission.Includes([]string{"User.ReadWrite.All"}, "User.EnableDisableAccount.All") {
		t.Error("writing does not include blocking")
	}
}
