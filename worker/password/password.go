// Package password makes first passwords of users, which no person gets to know before they are handed over.
package password

import (
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/big"
)

// classes are the four of which Entra asks for three; letters and digits
// that look alike are left out.
var classes = []string{
	"ABCDEFGHJKLMNPQRSTUVWXYZ", "abcdefghijkmnopqrstuvwxyz", "23456789", "!#$%&*+-=?@^_~",
}

// length is that of all passwords, in characters.
const length = 32

// Strong makes a random password of 32 characters, some of each class.
func Strong() string { return choose(random) }

// Derived makes a password like Strong, which is always the same for a key, a job and a user. The key has at least 32
// random bytes: without it, one password says nothing of others.
func Derived(key []byte, job, user string) string {
	const draw = 8 // bytes for each choice, which makes all characters as good as equally likely
	stream, err := hkdf.Key(sha256.New, key, nil, fmt.Sprintf("matoolkit password 1 %q %q", job, user), draw*2*length)
	if err != nil {
		panic(err) // only for more than 255 hashes
	}
	return choose(func(n int) int {
		drawn := binary.BigEndian.Uint64(stream)
		stream = stream[draw:]
		return int(drawn % uint64(n))
	})
}

// choose makes a password of choices from 0 to n-1, of which it takes fewer than twice its length.
func choose(choice func(n int) int) string {
	password := make([]byte, length)
	for i := range password {
		class := classes[i%len(classes)]
		password[i] = class[choice(len(class))]
	}
	for i := len(password) - 1; i > 0; i-- {
		j := choice(i + 1)
		password[i], password[j] = password[j], password[i]
	}
	return string(password)
}

func random(n int) int {
	i, err := rand.Int(rand.Reader, big.NewInt(int64(n)))
	if err != nil {
		panic(err) // the system's source of randomness never fails
	}
	return int(i.Int64())
}
