package api

import "time"

// ScalerStatus is the configuration of the container scaler with the result of its latest tick. It is at
// most a minute old. If the scaler is not configured, everything else is left out.
type ScalerStatus struct {
	Configured     bool            `json:"configured"`
	Settings       *ScalerSettings `json:"settings,omitempty"`
	LastTick       *ScalerTick     `json:"lastTick,omitempty"`       // nil: there was none
	LostContainers []LostContainer `json:"lostContainers,omitempty"` // of messages that still wait
}

// ScalerSettings are the settings of the container scaler that say what it creates.
type ScalerSettings struct {
	Topic            string  `json:"topic"`
	Image            string  `json:"image"`
	NamePrefix       string  `json:"namePrefix"`
	Location         string  `json:"location"`
	MaxInstances     int     `json:"maxInstances"`
	MaxPerTick       int     `json:"maxPerTick"` // creations of one tick, and deletions
	CPU              float64 `json:"cpu"`
	MemoryMultiplier float64 `json:"memoryMultiplier"`
	MinMemoryGB      float64 `json:"minMemoryGb"`
	MaxMemoryGB      float64 `json:"maxMemoryGb"`
}

// ScalerTick is the result of a tick of the container scaler. Lists have at most 100 items.
type ScalerTick struct {
	At            time.Time             `json:"at"`
	Error         string                `json:"error,omitempty"` // why it created nothing, or stopped
	CreatedCount  int                   `json:"createdCount"`
	DeletedCount  int                   `json:"deletedCount"`
	ActiveCount   int                   `json:"activeCount"`  // active groups when it began, plus CreatedCount
	MessageCount  int                   `json:"messageCount"` // messages that it read: the sum of Verdicts
	Verdicts      map[ScalerVerdict]int `json:"verdicts"`     // messages by what came of them; as many have ScalerCreate as CreatedCount says
	Containers    []ScalerContainer     `json:"containers"`   // that existed when the tick began
	Skipped       []ScalerMessage       `json:"skipped"`      // messages that get no container until a person does something
	Failures      []ScalerFailure       `json:"failures"`
	Subscriptions []BlockedSubscription `json:"blockedSubscriptions"`
	Partial       []string              `json:"partlyReadSubscriptions"` // with more messages than it read
}

// ScalerVerdict says what the container scaler does about a message.
type ScalerVerdict string

// The verdicts.
const (
	ScalerCreate           ScalerVerdict = "create"
	ScalerCreateFailed     ScalerVerdict = "create_failed" // of a tick; no plan has it
	ScalerNoCapacity       ScalerVerdict = "waiting_for_capacity"
	ScalerNextTick         ScalerVerdict = "waiting_for_next_tick"
	ScalerHasContainer     ScalerVerdict = "has_container"
	ScalerContainerEnded   ScalerVerdict = "container_ended"
	ScalerDuplicate        ScalerVerdict = "duplicate"
	ScalerDeliveryLimit    ScalerVerdict = "delivery_limit"
	ScalerMessageIDMissing ScalerVerdict = "message_id_missing"
	ScalerBodyNotJSON      ScalerVerdict = "body_not_json"
	ScalerSizeMissing      ScalerVerdict = "size_missing"
	ScalerSizeInvalid      ScalerVerdict = "size_invalid"
)

// ScalerVerdicts has all verdicts.
var ScalerVerdicts = []ScalerVerdict{
	ScalerCreate, ScalerCreateFailed, ScalerNoCapacity, ScalerNextTick, ScalerHasContainer, ScalerContainerEnded, ScalerDuplicate, ScalerDeliveryLimit,
	ScalerMessageIDMissing, ScalerBodyNotJSON, ScalerSizeMissing, ScalerSizeInvalid,
}

// ScalerContainer is a container group of the scaler.
type ScalerContainer struct {
	Group        string     `json:"group"`
	Subscription string     `json:"subscription,omitempty"`
	MessageID    string     `json:"messageId,omitempty"`
	FileSizeMB   string     `json:"fileSizeMb,omitempty"`
	State        string     `json:"state"` // as Azure has it
	Ended        bool       `json:"ended"`
	ExitCode     int        `json:"exitCode,omitempty"` // 0 also where the container did not start; the state tells
	StartedAt    *time.Time `json:"startedAt,omitempty"`
	FinishedAt   *time.Time `json:"finishedAt,omitempty"`
	Detail       string     `json:"detail,omitempty"`
}

// ScalerMessage is a message with its verdict.
type ScalerMessage struct {
	Subscription   string        `json:"subscription"`
	MessageID      string        `json:"messageId,omitempty"`
	SequenceNumber int64         `json:"sequenceNumber"`
	DeliveryCount  int           `json:"deliveryCount"` // deliveries so far; 0 before the first
	EnqueuedAt     *time.Time    `json:"enqueuedAt,omitempty"`
	FileSizeMB     string        `json:"fileSizeMb,omitempty"`
	Verdict        ScalerVerdict `json:"verdict"`
}

// ScalerFailure is a container group that could not be created or deleted.
type ScalerFailure struct {
	Group     string `json:"group"`
	MessageID string `json:"messageId,omitempty"` // of a creation
	Reason    string `json:"reason"`
}

// BlockedSubscription is a subscription from which no container can receive.
type BlockedSubscription struct {
	Subscription string `json:"subscription"`
	Reason       string `json:"reason"`
}

// LostContainer counts the containers in a row that ended before they received their message.
type LostContainer struct {
	Subscription string `json:"subscription"`
	MessageID    string `json:"messageId"`
	Count        int    `json:"count"`
	Detail       string `json:"detail,omitempty"` // why the last one failed
}

// ScalerPlan has the changes that a tick of the container scaler would make now. Messages has at most 1,000 items.
type ScalerPlan struct {
	At            time.Time             `json:"at"`
	ActiveCount   int                   `json:"activeCount"`
	MaxInstances  int                   `json:"maxInstances"`
	Create        []PlannedGroup        `json:"create"`
	Delete        []string              `json:"delete"`       // names of groups
	MessageCount  int                   `json:"messageCount"` // the sum of Verdicts
	Verdicts      map[ScalerVerdict]int `json:"verdicts"`
	Messages      []ScalerMessage       `json:"messages"`
	Subscriptions []BlockedSubscription `json:"blockedSubscriptions"`
	Partial       []string              `json:"partlyReadSubscriptions"`
}

// PlannedGroup is a container group that would be created.
type PlannedGroup struct {
	Group        string  `json:"group"`
	Subscription string  `json:"subscription"`
	MessageID    string  `json:"messageId"`
	FileSizeMB   string  `json:"fileSizeMb"`
	CPU          float64 `json:"cpu"`
	MemoryGB     float64 `json:"memoryGb"`
}
