package api

import "time"

// The kinds of events that a notification rule can name.
const (
	EventGateWaiting          = "gate_waiting"
	EventRemovalsHeld         = "removals_held"
	EventAdditionsHeld        = "additions_held"
	EventFailures             = "failures"
	EventBatchEnded           = "batch_ended"
	EventWorkerSilent         = "worker_silent"
	EventSourceFailing        = "source_failing"
	EventMessageUnprocessable = "message_unprocessable"
	EventContainersLost       = "containers_lost"
	EventShareReturned        = "share_returned"
	EventTest                 = "test" // of a test delivery; no rule names it
)

// NotificationEvents are the kinds of events that a rule can name.
var NotificationEvents = []string{
	EventGateWaiting, EventRemovalsHeld, EventAdditionsHeld, EventFailures, EventBatchEnded, EventWorkerSilent, EventSourceFailing,
	EventMessageUnprocessable, EventContainersLost, EventShareReturned,
}

// The types of targets.
const (
	TargetWebhook = "webhook"
	TargetTeams   = "teams"
	TargetMail    = "mail"
)

// NotificationRequest is the content of a notification rule.
type NotificationRequest struct {
	Name          string                  `json:"name"`
	Events        []string                `json:"events"` // of NotificationEvents
	Runbook       string                  `json:"runbook,omitempty"`
	Owner         string                  `json:"owner,omitempty"`
	FailedPercent int                     `json:"failedPercent,omitempty"` // with EventFailures; 10 if it is 0
	Target        NotificationTarget      `json:"target"`
	QuietHours    *NotificationQuietHours `json:"quietHours,omitempty"`
	Urgent        []string                `json:"urgent,omitempty"`  // of Events, those that quiet hours do not hold back
	LinkURL       string                  `json:"linkUrl,omitempty"` // what links in notifications begin with
}

// NotificationTarget is where notifications go. URLSetting and KeySetting name settings of the
// handler; a rule has no address and no key.
type NotificationTarget struct {
	Type       string   `json:"type"`                 // webhook, teams or mail
	URLSetting string   `json:"urlSetting,omitempty"` // of webhook and teams
	KeySetting string   `json:"keySetting,omitempty"` // of webhook
	WorkerID   string   `json:"workerId,omitempty"`   // of mail: the worker that sends it
	To         []string `json:"to,omitempty"`         // of mail; without it, the recipients of the worker
}

// NotificationQuietHours are daily hours in which notifications are held back.
type NotificationQuietHours struct {
	TimeZone string `json:"timeZone"` // IANA
	From     string `json:"from"`     // such as 20:00
	To       string `json:"to"`
}

// NotificationRule is a stored rule. A rule never changes: remove it and add another one.
type NotificationRule struct {
	NotificationRequest
	CreatedAt time.Time `json:"createdAt"`
	CreatedBy string    `json:"createdBy"`
	Unchanged bool      `json:"unchanged,omitempty"` // of an addition: the same rule existed
}

// DeliveryStatus is the status of a NotificationDelivery.
type DeliveryStatus string

// The statuses. A pending delivery waits for the end of quiet hours or for its next attempt.
const (
	DeliveryPending DeliveryStatus = "pending"
	DeliverySent    DeliveryStatus = "sent"
	DeliveryFailed  DeliveryStatus = "failed"
	DeliveryDropped DeliveryStatus = "dropped"
)

// NotificationDelivery is the announcement of one event by one rule. ID is the same in each attempt.
type NotificationDelivery struct {
	ID        string         `json:"id"`
	Rule      string         `json:"ruleName"`
	Event     string         `json:"event"`
	Subject   string         `json:"subject"`
	Text      string         `json:"text"`
	Link      string         `json:"link,omitempty"`
	BatchID   int            `json:"batchId,omitempty"`
	Runbook   string         `json:"runbook,omitempty"`
	Phase     string         `json:"phase,omitempty"`
	WorkerID  string         `json:"workerId,omitempty"`
	Status    DeliveryStatus `json:"status"`
	Attempts  int            `json:"attemptCount"`
	CreatedAt time.Time      `json:"createdAt"`
	NextAt    *time.Time     `json:"nextAttemptAt,omitempty"` // of a pending delivery
	SentAt    *time.Time     `json:"sentAt,omitempty"`
	Error     string         `json:"error,omitempty"` // of the last attempt
}
