package scaler

import (
	"crypto/sha256"
	"encoding/base32"
	"slices"
	"strings"
)

// The tags of a group. The first marks it as the scaler's.
const (
	TagManagedBy    = "managed_by"
	TagMessageID    = "message_id"
	TagSize         = "file_size_mb"
	TagSubscription = "subscription"
)

// Group is a container group to create. It follows from the message and the settings alone: the same
// message gives the same group in every tick, because a request that changes a group restarts it.
type Group struct {
	Name     string
	Location string
	Tags     map[string]string
	Image    string
	CPU      int        // in tenths of a core
	Memory   int        // in tenths of a GB
	Env      []Variable // by name
	Registry Registry
	Identity string // resource id of the attached identity; empty: none
	Subnet   string // resource id; empty: none
}

// Variable is an environment variable of a container. A secure one cannot be read back from Azure.
type Variable struct {
	Name, Value string
	Secure      bool
}

// maxName is the length of a group's name, and hashLength that of the part which follows from the message.
const (
	maxName    = 63
	hashLength = 26
	maxPrefix  = maxName - hashLength - 1
)

var lower32 = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// NameFor returns the name of a message's group. Two ticks at once, and one after a crash, thus cannot
// create two groups for a message. Names of topics and subscriptions are the same in any case.
func (s *Settings) NameFor(subscription, messageID string) string {
	digest := sha256.Sum256([]byte(strings.ToLower(s.Topic) + "\x00" + strings.ToLower(subscription) + "\x00" + messageID))
	return s.Prefix + "-" + lower32.EncodeToString(digest[:16])
}

// GroupFor returns the group for a message.
func (s *Settings) GroupFor(m Message) Group {
	env := slices.Clone(s.Env)
	if s.SubscriptionEnv != "" {
		env = append(env, Variable{Name: s.SubscriptionEnv, Value: m.Subscription})
	}
	if s.MessageEnv != "" {
		env = append(env, Variable{Name: s.MessageEnv, Value: m.ID})
	}
	slices.SortFunc(env, func(a, b Variable) int { return strings.Compare(a.Name, b.Name) })
	return Group{
		Name: s.NameFor(m.Subscription, m.ID), Location: s.Location,
		Tags:  map[string]string{TagManagedBy: s.Prefix, TagMessageID: m.ID, TagSize: m.Size.MB, TagSubscription: m.Subscription},
		Image: s.Image, CPU: s.CPU, Memory: s.Memory.memoryFor(m.Size), Env: env,
		Registry: s.Registry, Identity: s.Identity, Subnet: s.Subnet,
	}
}

// Manages reports whether a group with these tags is the scaler's.
func (s *Settings) Manages(tags map[string]string) bool { return tags[TagManagedBy] == s.Prefix }
