package cli_test

import (
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/local/entra"
)

// TestMembersMove moves members to another batch, one by the key and others by a filter.
func TestMembersMove(t *testing.T) {
	t.Parallel()
	s := newSystem(t, entra.DefaultAdminUPN)
	p := &transcript{person: s.signedIn()}
	p.type_(0, "runbook", "publish", p.file("moves.yaml", moves), "--force", "--quiet")
	p.type_(0, "batch", "create", "moves", p.file("first.csv", "UserId,Mail\nann,a@x\nbob,b@x\ncy,c@x\n"), "--name", "Wave 1", "--quiet")
	p.type_(0, "batch", "create", "moves", p.file("second.csv", "UserId,Mail\neve,e@x\n"), "--name", "Wave 2", "--quiet")
	p.type_(2, "member", "move", "Wave 1", "ann", "--reason", "on leave")
	p.type_(2, "member", "move", "Wave 1", "--to", "Wave 2", "--reason", "on leave")
	p.type_(2, "member", "move", "Wave 1", "ann", "--to", "Wave 2", "--yes")
	p.type_(0, "member", "move", "Wave 1", "ann", "--to", "Wave 2", "--reason", "on leave", "--dry-run")
	moved := func(args ...string) { // whose output has the random id of the task
		t.Helper()
		if _, says, status := p.run(append([]string{"member", "move"}, args...)...); status != 0 || !strings.Contains(says, "Completed.") {
			t.Errorf("%s: status %d: %s", args, status, says)
		}
	}
	moved("Wave 1", "ann", "--to", "Wave 2", "--reason", "on leave", "--yes", "--wait")
	p.type_(0, "member", "get", "1", "ann")
	p.type_(0, "member", "list", "2")
	p.type_(5, "member", "move", "1", "ann", "--to", "2", "--reason", "again", "--yes")
	p.type_(5, "member", "move", "1", "bob", "--to", "1", "--reason", "home", "--yes")
	p.type_(4, "member", "move", "1", "bob", "--to", "9", "--reason", "home", "--yes")
	moved("1", "--search", "@x", "--to", "2", "--reason", "with ann", "--yes", "--wait")
	p.type_(0, "batch", "list", "--columns", "batch,name,members")
	p.type_(0, "batch", "audit", "1", "--action", "move_member", "--columns", "action,by,target,reason")
	golden(t, "move", p.plain(strings.ReplaceAll(p.String(), p.dir, "")))
}
