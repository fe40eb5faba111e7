package directory

import "time"

// Provisioning is what becomes of a user's mailbox and plans a while after a change of licences. It is not a version of the
// user with a later time: other changes take place meanwhile.
type Provisioning struct {
	UserID      string    `json:"userId"`
	At          time.Time `json:"at"`
	Disconnects bool      `json:"disconnects,omitempty"` // the licence of the mailbox was taken
}

// PutProvisioning plans a provisioning, in the place of one that waits for the user.
func PutProvisioning(p Provisioning, at time.Time) Change {
	return Change{kind: provisioningKind, id: p.UserID, at: at, value: p}
}

// EndProvisioning is the end of a provisioning.
func EndProvisioning(id string, at time.Time) Change {
	return Change{kind: provisioningKind, id: id, at: at}
}

// DueProvisionings are those whose time has come.
func (d *Directory) DueProvisionings(now time.Time) []Provisioning {
	var due []Provisioning
	for _, id := range d.provisioned.Due(now, func(id string) (time.Time, bool) {
		p, waits := d.Provisionings.Latest(id)
		return p.At, waits
	}) {
		p, _ := d.Provisionings.Latest(id)
		due = append(due, p)
	}
	return due
}
