package adminhttp

import (
	"github.com/gin-gonic/gin"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/signin"
)

// actions are the commands of callers on batches, phases, members and steps, with the permission of each. The
// routes ask for it, and the views of what a caller may do now.
var actions = map[string]signin.Permission{
	"advance": signin.Operate, "pause": signin.Operate, "resume": signin.Operate, "update_batch": signin.Operate,
	"retry": signin.Operate, "skip_step": signin.Operate, "mark_done": signin.Operate, "check": signin.Operate, "correct_member": signin.Operate, "move_member": signin.Operate,
	"approve": signin.Approve, "confirm_removals": signin.Approve, "move_members": signin.Approve, "discard_removals": signin.Approve,
	"cancel": signin.Administer, "reschedule": signin.Administer, "add_members": signin.Administer, "remove_member": signin.Administer,
}

// purposes say what a permission is for.
var purposes = map[signin.Permission]string{
	signin.Operate: "drive a batch", signin.Approve: "decide on a gate or a hold", signin.Administer: "change this",
}

// may lets a request pass only if its caller has the permission of an action.
func (a *server) may(action string) gin.HandlerFunc {
	p, known := actions[action]
	if !known {
		panic("adminhttp: unknown action " + action)
	}
	return a.needs(p, purposes[p])
}

// forCaller disallows the actions that the caller may not do, with the reason that the route gives.
func forCaller(c *gin.Context, all []api.Action) {
	for i, one := range all {
		p := actions[one.Name]
		if reason := forbidden(c, p, purposes[p]); reason != "" {
			all[i] = api.Action{Name: one.Name, Phase: one.Phase, Reason: reason}
		}
	}
}
