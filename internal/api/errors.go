package api

import "time"

// BatchErrors are the errors of a batch's failed members, in groups, with the largest first.
type BatchErrors struct {
	Groups []ErrorGroup `json:"groups"`
	// Members are the failed members. Those of groups beyond the first MaxErrorGroups are counted only here.
	Members int `json:"members"`
}

// MaxErrorGroups is how many groups BatchErrors has at most.
const MaxErrorGroups = 200

// ErrorGroup is the members who failed at one step with errors that differ only in ids, numbers,
// addresses, times and quoted texts.
type ErrorGroup struct {
	ErrorGroup string    `json:"errorGroup"` // the error with a mark for what differs; selects the members in a retry
	Phase      string    `json:"phase"`
	Step       string    `json:"step"`
	Status     string    `json:"status"` // of the step
	Count      int       `json:"count"`  // members
	FirstAt    time.Time `json:"firstAt"`
	LastAt     time.Time `json:"lastAt"`
	// Examples are some of the members: the first five.
	Examples []ErrorExample `json:"examples"`
}

// ErrorExample is a member of an error group, with the error in full.
type ErrorExample struct {
	ID    int    `json:"memberId"`
	Key   string `json:"memberKey"`
	Error string `json:"error"`
}
