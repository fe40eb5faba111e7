// Package alert names the log records that an operator may have to be woken for: each has one of
// these values as its attribute Event. The alerts in infra/automation/alerts find the records by
// it; docs/telemetry.md says what else each record has, and when it can come twice.
package alert
