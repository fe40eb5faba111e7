package engine

import "fmt"

// A step execution's id says where the step is, so that a result leads to its run
// by one point read and no id is ever allotted: phase execution, member (7
// digits) and step index (3 digits), as in 2|0000017|001 for the second step of
// member 17 in execution 2. It is unique within its batch and stays below 2^53,
// which JSON readers of other languages keep exact.
const (
	stepsPerRun     = 1_000
	membersPerBatch = 10_000_000
	maxPhases       = 900_000
)

// PageSize is how many members one page holds: a run and a member's mark for
// each, and the page's shard, fit into one transactional batch of 100.
const PageSize = 49

// FanOutWindow is how many pages of a phase are begun ahead: page n waits until page
// n-FanOutWindow has yielded, which is when half of its runs have no job in flight for the
// first time. It keeps the jobs of one batch at a worker to some 150 for each step that
// members are at, so that the batches of a worker take turns.
const FanOutWindow = 3

// YieldsAt is how many of the page's runs have to have yielded for the page to have.
func (s *Shard) YieldsAt() int { return (s.Runs + 1) / 2 }

// HasYielded reports whether the fan-out may come to the page that waits for this one.
func (s *Shard) HasYielded() bool { return s.Yielded >= s.YieldsAt() }

// PageOf is the page, from 1, that a member is on in every phase.
func PageOf(member int) int { return (member-1)/PageSize + 1 }

// StepID makes a step execution's id.
func StepID(phase, member, index int) int64 {
	return (int64(phase)*membersPerBatch+int64(member))*stepsPerRun + int64(index)
}

// ParseStepID takes a step execution's id apart. It fails on a number that
// StepID cannot have made.
func ParseStepID(id int64) (phase, member, index int, err error) {
	index = int(id % stepsPerRun)
	member = int(id / stepsPerRun % membersPerBatch)
	phase = int(id / stepsPerRun / membersPerBatch)
	if id < 0 || phase < 1 || phase > maxPhases {
		return 0, 0, 0, fmt.Errorf("step execution id %d names no phase execution", id)
	}
	return phase, member, index, nil
}
