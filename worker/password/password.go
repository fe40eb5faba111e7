// Package password makes first passwords of users, which no person gets to know.
package password

import (
	"crypto/rand"
	"math/big"
)

// classes are the four of which Entra asks for three; letters and digits
// that look alike are left out.
var classes = []string{
	"ABCDEFGHJKLMNPQRSTUVWXYZ", "abcdefghijkmnopqrstuvwxyz", "23456789", "!#$%&*+-=?@^_~",
}

// Strong makes a password of 32 characters, some of each class.
func Strong() string {
	password := make([]byte, 32)
	for i := range password {
		class := classes[i%len(classes)]
		password[i] = class[random(len(class))]
	}
	for i := len(password) - 1; i > 0; i-- {
		j := random(i + 1)
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
