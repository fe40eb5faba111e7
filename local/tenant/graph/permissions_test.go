package graph

import "testing"

func TestEveryOperationAsksForSomething(t *testing.T) {
	t.Parallel()
	for _, r := range graphRoutes {
		if len(permissions[r.method+" /"+r.pattern]) == 0 {
			t.Errorf("%s /%s asks for no permission", r.method, r.pattern)
		}
	}
	if len(permissions) != len(graphRoutes) {
		t.Errorf("%d permissions for %d operations", len(permissions), len(graphRoutes))
	}
}
