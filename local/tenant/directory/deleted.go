package directory

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
)

// KeepDeleted adds a user to the deleted items, with all properties and its deletedDateTime. One with its id is replaced.
func (d *Directory) KeepDeleted(u User) error {
	if d.disk != nil {
		body, err := json.Marshal(u)
		if err == nil {
			_, err = d.disk.to().Exec(`INSERT INTO deleted_user (id, body) VALUES (?, ?) ON CONFLICT (id) DO UPDATE SET body = excluded.body`, u.ID(), string(body))
		}
		if err != nil {
			return fmt.Errorf("tenant: save deleted user %s: %w", u.ID(), err)
		}
	}
	d.DeletedUsers = append(slices.DeleteFunc(slices.Clone(d.DeletedUsers), func(other User) bool { return other.ID() == u.ID() }), u)
	return nil
}

func (k *disk) loadDeleted(ctx context.Context, d *Directory) error {
	rows, err := k.db.QueryContext(ctx, `SELECT body FROM deleted_user ORDER BY rowid`)
	if err != nil {
		return fmt.Errorf("tenant: load deleted users: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var body string
		var u User
		if err = rows.Scan(&body); err == nil {
			err = json.Unmarshal([]byte(body), &u)
		}
		if err != nil {
			return fmt.Errorf("tenant: load deleted users: %w", err)
		}
		d.DeletedUsers = append(d.DeletedUsers, u)
	}
	return rows.Err()
}
