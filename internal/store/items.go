package store

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
)

// Key is an item's place: its partition, its id within it, and what kind of
// document it is, for queries.
type Key struct{ PK, ID, Type string }

func (k Key) String() string { return k.PK + "/" + k.ID }

// The partitions. A batch's members, runs and shards are in its own; the list of
// batches and all runbooks are in one each.
const (
	PartitionBatches       = "batches"
	PartitionRunbooks      = "runbooks"
	PartitionUnprocessable = "unprocessed"
	PartitionWorkers       = "workers"
	PartitionNotifications = "notifications"
	PartitionScaler        = "scaler"
)

// BatchPartition holds everything of one batch.
func BatchPartition(id int) string { return fmt.Sprintf("batch:%d", id) }

// BatchKey is the batch itself, with its phases.
func BatchKey(id int) Key { return Key{BatchPartition(id), "batch", "batch"} }

// MemberKey is one member of a batch. Ids sort as their numbers do.
func MemberKey(batch, member int) Key {
	return Key{BatchPartition(batch), fmt.Sprintf("member-%07d", member), "member"}
}

// RunKey is a member's run in a phase execution; member 0 is that of a sequence without members.
func RunKey(batch, phase, member int) Key {
	return Key{BatchPartition(batch), fmt.Sprintf("run-%03d-%07d", phase, member), "run"}
}

// ShardKey is the count of one page's runs in a phase execution.
func ShardKey(batch, phase, page int) Key {
	return Key{BatchPartition(batch), fmt.Sprintf("shard-%03d-%06d", phase, page), "shard"}
}

// SortableTime formats a time as text of a fixed length, which sorts by it.
func SortableTime(t time.Time) string { return t.UTC().Format("20060102T150405.000000000Z") }

// AuditKey is one record of who did what, in the partition of what it was done to. Ids begin
// with a SortableTime, so that they sort by it.
func AuditKey(pk, id string) Key { return Key{pk, "audit-" + id, "audit"} }

// TaskKey is work over a batch's members that an administrator asked for.
func TaskKey(batch int, task string) Key {
	return Key{BatchPartition(batch), "task-" + task, "task"}
}

// WorkerKey is the record of a worker. No worker id contains a colon.
func WorkerKey(worker string) Key {
	return Key{PartitionWorkers, "worker:" + strings.ToLower(worker), "worker"}
}

// CatalogKey is the functions that a worker announced.
func CatalogKey(worker string) Key { return Key{PartitionWorkers, "catalog:" + worker, "catalog"} }

// SequenceKey holds the number of the newest batch.
func SequenceKey() Key { return Key{PartitionBatches, "sequence", "sequence"} }

// EntryKey is a batch's line in the list of batches.
func EntryKey(id int) Key {
	return Key{PartitionBatches, fmt.Sprintf("batch-%09d", id), "entry"}
}

// SlotKey says which batch a runbook has for a start time: there is one at most.
func SlotKey(runbook string, start time.Time) Key {
	return Key{PartitionBatches, SlotID(runbook, start), "slot"}
}

// SlotID is the id of a SlotKey.
func SlotID(runbook string, start time.Time) string {
	return fmt.Sprintf("slot:%s:%s", runbook, start.UTC().Format(time.RFC3339Nano))
}

// ClaimKey is the claim on a person, by the key of a member. Capital letters make no
// difference.
func ClaimKey(person string) Key {
	digest := sha256.Sum256([]byte(strings.ToLower(person)))
	return Key{PartitionBatches, "claim-" + hex.EncodeToString(digest[:16]), "claim"}
}

// RequestKey is the record of an idempotency key, in the partition of what the request brings about. The id is a digest.
func RequestKey(partition, id string) Key { return Key{partition, "request-" + id, "request"} }

// PipelineKey is the newest request of an owner, in any case, to a runbook that requests start. The id is a digest:
// an owner can have any name.
func PipelineKey(runbook, owner string) Key {
	return Key{PartitionBatches, "pipeline-" + requestDigest(runbook, owner), "pipeline"}
}

// ShadowKey is the newest request of an owner that ran in the shadow of another orchestrator.
func ShadowKey(runbook, owner string) Key {
	return Key{PartitionBatches, "shadow-" + requestDigest(runbook, owner), "pipeline"}
}

func requestDigest(runbook, owner string) string {
	digest := sha256.New()
	fmt.Fprintf(digest, "%d:%s%s", len(runbook), runbook, strings.ToLower(owner))
	return hex.EncodeToString(digest.Sum(nil)[:16])
}

// RoutingKey is the routing of all pipelines.
func RoutingKey() Key { return Key{PartitionRunbooks, "routing", "routing"} }

// ComparisonKey is the comparison of a shadow with the other orchestrator.
func ComparisonKey(batch int) Key {
	return Key{PartitionBatches, fmt.Sprintf("comparison-%09d", batch), "comparison"}
}

// ComparisonsKey counts the comparisons of a pipeline.
func ComparisonsKey(runbook string) Key {
	return Key{PartitionBatches, "comparisons:" + runbook, "comparisons"}
}

// HoldKey names the members of a batch whose removal is held, and those whose
// removal was discarded.
func HoldKey(batch int) Key { return Key{BatchPartition(batch), "hold", "hold"} }

// CachePartitions is how many partitions have the entries of the cache of steps, so that no one has the
// claims of all batches to write.
const CachePartitions = 16

// CachePartition is one of the partitions with entries of the cache: 0 to CachePartitions-1.
func CachePartition(part int) string { return fmt.Sprintf("cache-%x", part) }

// CacheKey is an entry of the cache of steps. The id is a digest in hexadecimal.
func CacheKey(id string) Key { return Key{"cache-" + id[:1], "cache-" + id, "cache"} }

// AutomationKey is whether a runbook's batches are made by themselves.
func AutomationKey(runbook string) Key {
	return Key{PartitionRunbooks, "automation:" + runbook, "automation"}
}

// AdditionsKey is a page of the people whose addition to a runbook's batches is held. The
// list names them all: another set of people is another list.
func AdditionsKey(runbook, list string, page int) Key {
	return Key{PartitionRunbooks, fmt.Sprintf("additions:%s:%s:%06d", runbook, list, page), "additions"}
}

// SyncKey names the lease and the last result of a runbook's data source sync.
func SyncKey(runbook string) Key { return Key{PartitionRunbooks, "sync:" + runbook, "sync"} }

// RunbookKey is a runbook's head: its newest and its active version.
func RunbookKey(name string) Key { return Key{PartitionRunbooks, "runbook:" + name, "runbook"} }

// VersionKey is one version of a runbook, of which only who deactivated it changes.
func VersionKey(name string, version int) Key {
	return Key{PartitionRunbooks, fmt.Sprintf("version:%s:%06d", name, version), "version"}
}

// UnprocessableKey is a message that could not be processed.
func UnprocessableKey(id string) Key { return Key{PartitionUnprocessable, id, "unprocessed"} }

// AttemptsKey counts the failed attempts to process a message.
func AttemptsKey(id string) Key { return Key{PartitionUnprocessable, "attempts-" + id, "attempts"} }

// NotificationRuleKey is a rule of notifications.
func NotificationRuleKey(rule string) Key {
	return Key{PartitionNotifications, "rule:" + rule, "rule"}
}

// RemovedRuleKey is a rule that a request with an idempotency key removed, as it was. The id is a digest
// of the request.
func RemovedRuleKey(id string) Key {
	return Key{PartitionNotifications, "removed:" + id, "removed-rule"}
}

// DeliveryKey is the delivery of one event to the target of a rule. The id is a digest of the event.
func DeliveryKey(rule, id string) Key {
	return Key{PartitionNotifications, DeliveryPrefix(rule) + id, "delivery"}
}

// DeliveryPrefix begins the ids of a rule's deliveries. No name of a rule has a colon.
func DeliveryPrefix(rule string) string { return "delivery:" + rule + ":" }

// ScalerKey is the result of the container scaler's latest tick, and its attempts at messages.
func ScalerKey() Key { return Key{PartitionScaler, "record", "scaler"} }
