package directory

import "time"

// Policy is a Conditional Access policy: property names of Graph to JSON values. Values are never changed in place.
type Policy map[string]any

// ID is the id of the policy.
func (p Policy) ID() string { return Text(p["id"]) }

// PutPolicy is the next version of a policy.
func PutPolicy(p Policy, at time.Time) Change {
	return Change{kind: policyKind, id: Fold(p.ID()), at: at, value: p}
}
