package model

import (
	"fmt"
)

// A step execution's id says where the step is, so that a result leads to its run
// by one point read and no id is ever allotted: phase execution, member (7
// digits) and step index (3 digits), as in 2|0000017|001 for the second step of
// member 17 in execution 2. It is unique within its batch and stays below 2^53,
// which JSON readers of other languages keep exact.
const (
	StepsPerRun     = 1_000
	membersPerBatch = 10_000_000
	maxPhases       = 900_000
)

// CheckPhase stands for an execution in the ids of the runs of checks, which belong to no phase of
// the batch. No batch has so many executions.
const CheckPhase = maxPhases

// StepID makes a step execution's id.
func StepID(phase, member, index int) int64 {
	return (int64(phase)*membersPerBatch+int64(member))*StepsPerRun + int64(index)
}

// ParseStepID takes a step execution's id apart. It fails on a number that
// StepID cannot have made.
func ParseStepID(id int64) (phase, member, index int, err error) {
	index = int(id % StepsPerRun)
	member = int(id / StepsPerRun % membersPerBatch)
	phase = int(id / StepsPerRun / membersPerBatch)
	if id < 0 || phase < 1 || phase > maxPhases {
		return 0, 0, 0, fmt.Errorf("invalid step execution id %d", id)
	}
	return phase, member, index, nil
}
