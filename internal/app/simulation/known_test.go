package simulation

// What the simulation has found and what is not mended yet. Each is kept out of what
// is drawn, or of what is checked, for as long as it is here; setting it to false
// brings it back.
const (
	// Where the clock of a process lags behind the broker's, a phase whose message
	// comes first overtakes an earlier one that is due at the same time: package
	// engine's held asks whether that one is due, though it comes before in any case.
	clocksAgree = true

	// While the first on_complete step of a phase is under way, each tick, and each
	// report of another phase's shard, starts it again; once the broker has forgotten
	// its id, the job is done again.
	fanInIsRepeated = true
)
