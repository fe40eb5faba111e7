package app

import "time"

// The worker of most tests sends no heartbeats and never needs time to start: a job that
// it does not answer is lost. Tests of the start-up time set Config.WorkerStartup.
func init() { defaultStartup = time.Nanosecond }
