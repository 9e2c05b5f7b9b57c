package access

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"net/http"
	"sync"
	"time"
	"unicode"

	"golang.org/x/crypto/bcrypt"
)

// maxQueue bounds the passwords that wait for the check: more are refused.
const maxQueue = 20

// errBusy is the error of a password that was not checked.
var errBusy = errors.New("too many logins at once")

// remembered is how long a correct password is not checked again after its last use, because bcrypt
// takes longer than most pages.
const remembered = 5 * time.Minute

// users checks passwords.
type users struct {
	hashes map[string]string // bcrypt, by name
	other  string            // the hash that is checked for an unknown name
	secret [32]byte          // HMAC key of the sums in right
	slot   chan struct{}     // one password is checked at a time, so that guessing leaves CPU time
	queue  chan struct{}     // of passwords that wait for the slot

	mu    sync.Mutex
	right map[[sha256.Size]byte]time.Time // correct passwords, one per user → when they are checked again
}

func newUsers(hashes map[string]string) *users {
	u := &users{hashes: hashes, slot: make(chan struct{}, 1), queue: make(chan struct{}, maxQueue),
		right: map[[sha256.Size]byte]time.Time{}}
	for _, hash := range hashes {
		u.other = hash
		break
	}
	_, _ = rand.Read(u.secret[:]) // it never fails
	return u
}

// ask checks the password that a request to a Site has for a user, and logs a wrong one. The only error is errBusy.
func (u *users) ask(at *Site, r *http.Request, name, password string) (bool, error) {
	ok, err := u.check(r.Context(), name, password)
	if !ok && err == nil {
		at.log.Warn("login refused", "user", shown(name), "from", at.from(r))
	}
	return ok, err
}

// check reports whether a password is that of a user. An unknown name takes as long. The only error is
// errBusy.
func (u *users) check(ctx context.Context, name, password string) (bool, error) {
	mac := hmac.New(sha256.New, u.secret[:])
	mac.Write([]byte(name + "\x00" + password))
	sum := [sha256.Size]byte(mac.Sum(nil))
	if u.remembers(sum) {
		return true, nil
	}
	select {
	case u.queue <- struct{}{}:
		defer func() { <-u.queue }()
	default:
		return false, errBusy
	}
	select {
	case u.slot <- struct{}{}:
		defer func() { <-u.slot }()
	case <-ctx.Done():
		return false, errBusy
	}
	if u.remembers(sum) { // another request of the same page was checked meanwhile
		return true, nil
	}
	hash, exists := u.hashes[name]
	if !exists {
		hash = u.other
	}
	if bcrypt.CompareHashAndPassword([]byte(hash), []byte(password)) != nil || !exists {
		return false, nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.right[sum] = time.Now().Add(remembered)
	return true, nil
}

func (u *users) remembers(sum [sha256.Size]byte) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	until, ok := u.right[sum]
	if ok && time.Now().After(until) {
		delete(u.right, sum)
		ok = false
	}
	if ok {
		u.right[sum] = time.Now().Add(remembered)
	}
	return ok
}

// shown returns a foreign name without control characters, for the log.
func shown(name string) string {
	runes := []rune(name)
	for i, r := range runes {
		if !unicode.IsPrint(r) {
			runes[i] = '?'
		}
	}
	return string(runes[:min(len(runes), 60)])
}
