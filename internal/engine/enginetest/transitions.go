package enginetest

import "github.com/matoolkit/matoolkit/internal/model"

// Machine is one of the state machines that the engine drives.
type Machine struct {
	Name        string
	Transitions []Transition
}

// Transition is one change of a status. From is empty for the first status.
type Transition struct{ From, To, Cause string }

// Machines returns the state machines of the engine. The tests of internal/engine pass random
// batches through every transition of it and through no other one, and
// docs/reference/state-machine.md is generated from it.
func Machines() []Machine {
	return []Machine{
		{"batch", transitions(
			on[model.BatchStatus]{"", model.BatchDetected, "created; the runbook has init steps, or members are still to be listed or written"},
			on[model.BatchStatus]{"", model.BatchActive, "created; the runbook has no init steps"},
			on[model.BatchStatus]{model.BatchDetected, model.BatchInitDispatched, "advanced by hand, or due"},
			on[model.BatchStatus]{model.BatchDetected, model.BatchActive, "all members are written and there are no init steps, or a newer version has none"},
			on[model.BatchStatus]{model.BatchDetected, model.BatchCompleted, "there are no init steps, and all remaining phases are past due; or a function listed the items of an earlier batch, which has the result"},
			on[model.BatchStatus]{model.BatchDetected, model.BatchFailed, "the items could not be listed"},
			on[model.BatchStatus]{model.BatchDetected, model.BatchCancelling, "cancelled while phases of the previous version are running, or when the call that lists the items has begun"},
			on[model.BatchStatus]{model.BatchDetected, model.BatchCancelled, "cancelled before anything started"},
			on[model.BatchStatus]{model.BatchInitDispatched, model.BatchActive, "the last init step succeeded"},
			on[model.BatchStatus]{model.BatchInitDispatched, model.BatchDetected, "init ended, and a newer version needs its own init"},
			on[model.BatchStatus]{model.BatchInitDispatched, model.BatchCompleted, "init ran again for a newer version with no remaining phase"},
			on[model.BatchStatus]{model.BatchInitDispatched, model.BatchFailed, "an init step failed with no retry left, or no phase completed"},
			on[model.BatchStatus]{model.BatchInitDispatched, model.BatchCancelling, "cancelled"},
			on[model.BatchStatus]{model.BatchActive, model.BatchDetected, "a newer version runs init again"},
			on[model.BatchStatus]{model.BatchActive, model.BatchInitDispatched, "a failed init is retried while other runs are open"},
			on[model.BatchStatus]{model.BatchActive, model.BatchCompleted, "everything ended, at least one phase completed"},
			on[model.BatchStatus]{model.BatchActive, model.BatchFailed, "everything ended, no phase completed or init failed"},
			on[model.BatchStatus]{model.BatchActive, model.BatchCancelling, "cancelled"},
			on[model.BatchStatus]{model.BatchActive, model.BatchCancelled, "cancelled before anything started"},
			on[model.BatchStatus]{model.BatchCancelling, model.BatchCancelled, "the last open run ended"},
			on[model.BatchStatus]{model.BatchCompleted, model.BatchActive, "a failed member is retried"},
			on[model.BatchStatus]{model.BatchFailed, model.BatchActive, "a failed member is retried"},
			on[model.BatchStatus]{model.BatchFailed, model.BatchInitDispatched, "a failed init is retried"},
			on[model.BatchStatus]{model.BatchFailed, model.BatchDetected, "a failed call that lists the items is retried"},
		)},
		{"phase", transitions(
			on[model.PhaseStatus]{"", model.PhasePending, "the batch is created, or a version is published"},
			on[model.PhaseStatus]{model.PhasePending, model.PhaseDispatched, "advanced by hand, or due; its gates are open, it is not in quiet hours, and every earlier phase is fanned out"},
			on[model.PhaseStatus]{model.PhasePending, model.PhaseSkipped, "past due when its version was published, or the items are those of an earlier batch"},
			on[model.PhaseStatus]{model.PhasePending, model.PhaseSuperseded, "a newer version was published"},
			on[model.PhaseStatus]{model.PhasePending, model.PhaseCancelled, "the batch was cancelled, or init or the call that lists the items failed"},
			on[model.PhaseStatus]{model.PhaseDispatched, model.PhaseCompleted, "all runs ended, at least one succeeded"},
			on[model.PhaseStatus]{model.PhaseDispatched, model.PhaseFailed, "all runs ended, none succeeded, or the on_complete steps failed"},
			on[model.PhaseStatus]{model.PhaseDispatched, model.PhaseCancelled, "the batch was cancelled before all members ended"},
			on[model.PhaseStatus]{model.PhaseCompleted, model.PhaseDispatched, "late members catch up, or a member is retried"},
			on[model.PhaseStatus]{model.PhaseFailed, model.PhaseDispatched, "late members catch up, or a member is retried"},
			on[model.PhaseStatus]{model.PhaseCancelled, model.PhasePending, "the failed init, or call that lists the items, is retried"},
		)},
		{"member", transitions(
			on[model.MemberStatus]{"", model.MemberActive, "added to the batch"},
			on[model.MemberStatus]{model.MemberActive, model.MemberFailed, "a run of the member failed, after its rollback"},
			on[model.MemberStatus]{model.MemberActive, model.MemberRemoved, "gone from the data source, or removed by an administrator"},
			on[model.MemberStatus]{model.MemberFailed, model.MemberActive, "retried"},
		)},
		{"run", transitions(
			on[model.RunStatus]{"", model.RunWaiting, "the phase is fanned out to the member"},
			on[model.RunStatus]{model.RunWaiting, model.RunRunning, "the member has no earlier run; the first job is dispatched"},
			on[model.RunStatus]{model.RunWaiting, model.RunSucceeded, "all steps were skipped or completed by hand, or the condition of the phase is false"},
			on[model.RunStatus]{model.RunWaiting, model.RunFailed, "the parameters of the first step cannot be resolved"},
			on[model.RunStatus]{model.RunWaiting, model.RunCancelled, "the member failed or was removed, or the batch was cancelled"},
			on[model.RunStatus]{model.RunRunning, model.RunSucceeded, "the last step succeeded"},
			on[model.RunStatus]{model.RunRunning, model.RunRollingBack, "a dispatched step failed with no retry left, and has a rollback"},
			on[model.RunStatus]{model.RunRunning, model.RunFailed, "a step failed with no retry left, and has no rollback"},
			on[model.RunStatus]{model.RunRunning, model.RunCancelled, "the member was removed, or the batch was cancelled"},
			on[model.RunStatus]{model.RunRollingBack, model.RunFailed, "the last step of the rollback ended"},
			on[model.RunStatus]{model.RunFailed, model.RunWaiting, "retried"},
			on[model.RunStatus]{model.RunCancelled, model.RunWaiting, "the member, who failed in an earlier phase, is retried"},
		)},
		{"step", transitions(
			on[model.StepStatus]{"", model.StepPending, "the run is created"},
			on[model.StepStatus]{model.StepPending, model.StepDispatched, "the previous step succeeded, or the retry is due"},
			on[model.StepStatus]{model.StepPending, model.StepFailed, "its parameters cannot be resolved"},
			on[model.StepStatus]{model.StepPending, model.StepCancelled, "an earlier step failed, or the run was cancelled"},
			on[model.StepStatus]{model.StepPending, model.StepSkipped, "skipped by an administrator"},
			on[model.StepStatus]{model.StepPending, model.StepSkippedByCondition, "its condition, or that of its phase, is false"},
			on[model.StepStatus]{model.StepPending, model.StepSucceeded, "completed by an administrator"},
			on[model.StepStatus]{model.StepDispatched, model.StepSucceeded, "the worker's result, or completed by an administrator"},
			on[model.StepStatus]{model.StepDispatched, model.StepPolling, "the result says that the function is not complete"},
			on[model.StepStatus]{model.StepDispatched, model.StepPending, "failed or timed out with a retry left; or its job expired or was revoked"},
			on[model.StepStatus]{model.StepDispatched, model.StepFailed, "failed or timed out with no retry left"},
			on[model.StepStatus]{model.StepDispatched, model.StepCancelled, "the run was cancelled"},
			on[model.StepStatus]{model.StepDispatched, model.StepSkipped, "skipped by an administrator"},
			on[model.StepStatus]{model.StepPolling, model.StepDispatched, "the poll is due and was not sent ahead"},
			on[model.StepStatus]{model.StepPolling, model.StepPending, "the poll failed or timed out with a retry left; or its job expired or was revoked"},
			on[model.StepStatus]{model.StepPolling, model.StepFailed, "the poll failed or timed out with no retry left"},
			on[model.StepStatus]{model.StepPolling, model.StepPollTimeout, "the poll timeout is over"},
			on[model.StepStatus]{model.StepPolling, model.StepCancelled, "the run was cancelled"},
			on[model.StepStatus]{model.StepPolling, model.StepSkipped, "skipped by an administrator"},
			on[model.StepStatus]{model.StepPolling, model.StepSucceeded, "the result of the poll, or completed by an administrator"},
			on[model.StepStatus]{model.StepFailed, model.StepPending, "the run is retried"},
			on[model.StepStatus]{model.StepFailed, model.StepSkipped, "the run is retried without the step"},
			on[model.StepStatus]{model.StepFailed, model.StepSucceeded, "the run is retried, with the step completed by hand"},
			on[model.StepStatus]{model.StepPollTimeout, model.StepPending, "the run is retried"},
			on[model.StepStatus]{model.StepPollTimeout, model.StepSkipped, "the run is retried without the step"},
			on[model.StepStatus]{model.StepPollTimeout, model.StepSucceeded, "the run is retried, with the step completed by hand"},
			on[model.StepStatus]{model.StepCancelled, model.StepPending, "the run is retried"},
			on[model.StepStatus]{model.StepSkippedByCondition, model.StepPending, "the run, which was rolled back, is retried from its first step"},
			on[model.StepStatus]{model.StepSucceeded, model.StepPending, "the run, which was rolled back, is retried from its first step"},
		)},
	}
}

// on is a transition of one kind of status.
type on[S ~string] struct {
	from, to S
	cause    string
}

func transitions[S ~string](all ...on[S]) []Transition {
	var out []Transition
	for _, t := range all {
		out = append(out, Transition{string(t.from), string(t.to), t.cause})
	}
	return out
}
