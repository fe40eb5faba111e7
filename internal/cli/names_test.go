package cli_test

import (
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/local/entra"
)

// TestNames names batches, and finds them by name.
func TestNames(t *testing.T) {
	t.Parallel()
	s := newSystem(t, entra.DefaultAdminUPN)
	p := &transcript{person: s.signedIn()}
	p.type_(0, "runbook", "publish", p.file("moves.yaml", moves), "--force", "--quiet")
	p.type_(0, "batch", "create", "moves", p.file("first.csv", "UserId,Mail\nann,a@x\n"), "--name", "Wave 3", "--note", "finance moves last")
	p.type_(0, "batch", "create", "moves", p.file("second.csv", "UserId,Mail\nbob,b@x\n"), "--owner", "Bea")
	p.type_(5, "batch", "create", "moves", p.file("third.csv", "UserId,Mail\neve,e@x\n"), "--name", "42")
	p.type_(0, "batch", "get", "wave 3")
	p.type_(0, "batch", "list")
	p.type_(0, "batch", "list", "--owner", "bea", "--quiet")
	p.type_(0, "batch", "set", "2", "--name", "Wave 4", "--owner", "", "--reason", "Bea has left")
	p.type_(0, "batch", "list", "--output", "wide")
	p.type_(0, "member", "list", "wave 4")
	p.type_(4, "batch", "pause", "wave 5")
	p.type_(0, "batch", "set", "Wave 4", "--name", "Wave 3")
	p.type_(5, "batch", "pause", "Wave 3")
	p.type_(2, "batch", "pause", " ")
	p.type_(0, "runbook", "publish", p.file("shown.yaml", strings.Replace(moves, "name: moves", "name: shown\ndisplay: Name", 1)), "--force", "--quiet")
	p.type_(0, "batch", "create", "shown", p.file("fourth.csv", "UserId,Mail,Name,City\ncy,refuse@x,Cy Young,Bern\ndan,d@x,Dan Young,Wien\n"))
	p.type_(0, "batch", "advance", "3", "--yes", "--wait", "--quiet")
	p.type_(0, "batch", "advance", "3", "--yes", "--wait", "--quiet")
	p.type_(0, "batch", "remove-member", "3", "dan", "--yes")
	p.type_(0, "member", "list", "3")
	p.type_(0, "step", "list", "3", "--member", "cy")
	p.type_(0, "find", "YOUNG")
	p.type_(0, "find", "wien")
	p.type_(0, "find", "@x", "--columns", "key,batch,status,matched")
	p.type_(0, "find", "@x", "--limit", "2", "--quiet")
	p.type_(0, "find", "nobody")
	p.type_(2, "find", " ")
	p.type_(0, "batch", "audit", "2", "--action", "update_batch", "--columns", "action,by,reason,before,after")
	golden(t, "names", p.plain(strings.ReplaceAll(p.String(), p.dir, "")))
}
