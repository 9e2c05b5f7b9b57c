package access

import (
	"errors"

	"golang.org/x/crypto/bcrypt"
)

// Hash returns the hash of a password as a users file has it. The error does not contain the password.
func Hash(password string) (string, error) {
	if password == "" {
		return "", errors.New("the password is empty")
	}
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.DefaultCost)
	return string(hash), err
}
