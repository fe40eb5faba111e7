package directory

import "time"

// MigrationJob is a crossTenantMigrationJob, which moves people of another tenant.
type MigrationJob struct {
	ID                   string             `json:"id"`
	Name                 string             `json:"name"`
	SourceTenantID       string             `json:"sourceTenantId"`
	Workloads            []string           `json:"workloads,omitempty"` // none: all
	SourceEndpoint       string             `json:"sourceEndpoint,omitempty"`
	TargetDeliveryDomain string             `json:"targetDeliveryDomain,omitempty"`
	Users                []MigrationJobUser `json:"users"`
	CompleteAfter        time.Time          `json:"completeAfter"`
	Created              time.Time          `json:"created"`
	Updated              time.Time          `json:"updated"`
	Validated            time.Time          `json:"validated,omitzero"` // when validation was requested last
	Started              time.Time          `json:"started,omitzero"`
	Cancelled            bool               `json:"cancelled,omitempty"`
	Status               string             `json:"status,omitempty"` // of the seed: the job has it, whatever else happened
	Message              string             `json:"message,omitempty"`
}

// MigrationJobUser is a person of a job.
type MigrationJobUser struct {
	ID        string `json:"id"`              // of the target user
	Error     string `json:"error,omitempty"` // why the person cannot be moved, from the last validation
	Cancelled bool   `json:"cancelled,omitempty"`
	Status    string `json:"status,omitempty"` // of the seed
	// Of a job whose source is another tenant of the system.
	Copied bool `json:"copied,omitempty"` // the source has the mailbox, and lets it go
	Moved  bool `json:"moved,omitempty"`  // the mailbox has left the source, and is here
}

// PutMigrationJob is the next version of a job.
func PutMigrationJob(j MigrationJob, at time.Time) Change {
	return Change{kind: migrationJobKind, id: Fold(j.Name), at: at, value: j}
}

// DeleteMigrationJob is the deletion of a job.
func DeleteMigrationJob(name string, at time.Time) Change {
	return Change{kind: migrationJobKind, id: Fold(name), at: at}
}

// jobKeys are the keys of a job: its id, and its people.
func jobKeys(j MigrationJob) []key {
	keys := make([]key, 0, len(j.Users)+1)
	if j.ID != "" {
		keys = append(keys, key{"jobID", Fold(j.ID)})
	}
	for _, u := range j.Users {
		keys = append(keys, key{"jobUser", u.ID})
	}
	return keys
}
