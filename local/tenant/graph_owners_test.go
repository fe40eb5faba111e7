package tenant_test

import (
	"fmt"
	"testing"

	"github.com/matoolkit/matoolkit/local/tenant"
)

func TestOwnersOfAGroup(t *testing.T) {
	t.Parallel()
	r := start(t, tenant.Config{})
	ann, bob := r.newUser("ann"), r.newUser("bob")
	links := func(ids ...string) (all []string) {
		for _, id := range ids {
			all = append(all, "https://graph.microsoft.com/v1.0/users/"+id)
		}
		return all
	}
	group := func(nickname string, owners []string) map[string]any {
		return map[string]any{
			"displayName": nickname, "mailNickname": nickname, "mailEnabled": true, "securityEnabled": false, "groupTypes": []string{"Unified"},
			"owners@odata.bind": owners, "members@odata.bind": links(ann, bob),
		}
	}
	id := r.must(201, "POST", "/v1.0/groups", group("sales", links(ann))).id()
	owners := "/v1.0/groups/" + id + "/owners"
	if got := r.must(200, "GET", owners+"?$select=id&$top=999", nil).values(); len(got) != 1 || got[0]["id"] != ann {
		t.Errorf("owners = %v", got)
	}
	if got := r.must(200, "GET", "/v1.0/groups/"+id+"/members?$select=id", nil).values(); len(got) != 2 {
		t.Errorf("members = %v", got)
	}

	for name, c := range map[string]struct {
		status       int
		method, path string
		body         any
		message      string
	}{
		"the last owner":  {400, "DELETE", owners + "/" + ann + "/$ref", nil, "The group must have at least one owner, hence this owner cannot be removed."},
		"an owner again":  {400, "POST", owners + "/$ref", r.link(ann), "One or more added object references already exist for the following modified properties: 'owners'."},
		"a user twice":    {400, "POST", "/v1.0/groups", group("twice", links(ann, ann)), "A bind operation requires a collection of unique IDs."},
		"too many":        {400, "POST", "/v1.0/groups", group("many", links(numbered(19)...)), "The number of relationships exceeds the maximum of 20."},
		"nobody":          {404, "POST", "/v1.0/groups", group("nobody", links(numbered(1)...)), ""},
		"no owner":        {404, "DELETE", owners + "/" + bob + "/$ref", nil, ""},
		"a group unknown": {404, "GET", "/v1.0/groups/" + bob + "/owners", nil, ""},
	} {
		if _, message := r.must(c.status, c.method, c.path, c.body).error(); c.message != "" && message != c.message {
			t.Errorf("%s: %s", name, message)
		}
	}

	r.must(204, "POST", owners+"/$ref", r.link(bob))
	r.must(204, "DELETE", owners+"/"+ann+"/$ref", nil)
	if got := r.must(200, "GET", owners, nil).values(); len(got) != 1 || got[0]["id"] != bob {
		t.Errorf("owners = %v", got)
	}
}

// numbered are ids that no object has.
func numbered(n int) (ids []string) {
	for i := range n {
		ids = append(ids, fmt.Sprintf("99999999-0000-4000-8000-%012d", i))
	}
	return ids
}
