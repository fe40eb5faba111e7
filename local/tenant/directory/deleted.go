package directory

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Deleted is a user as the deleted items have it: its sign-in name begins with its id, so that another user can have the name.
// Addresses are free as well.
func (u User) Deleted(at time.Time) User {
	return u.With(map[string]any{
		"userPrincipalName": strings.ReplaceAll(u.ID(), "-", "") + u.UPN(), "deletedDateTime": at.UTC().Format(time.RFC3339),
	})
}

// SignInName is the sign-in name of a user, also of a deleted one the one that it had.
func (u User) SignInName() string {
	if u.Text("deletedDateTime") == "" {
		return u.UPN()
	}
	return strings.TrimPrefix(strings.ToLower(u.UPN()), strings.ReplaceAll(strings.ToLower(u.ID()), "-", ""))
}

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
