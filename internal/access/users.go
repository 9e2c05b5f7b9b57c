package access

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"sync"
	"time"
	"unicode"

	"golang.org/x/crypto/bcrypt"
)

// maxQueue is how many passwords wait to be computed: more than that are refused.
const maxQueue = 20

// errBusy is the error of a password that was not computed.
var errBusy = errors.New("too many logins at once")

// remembered is how long a password that was right is not computed again after its last use: bcrypt takes
// longer than most pages.
const remembered = 5 * time.Minute

// users checks passwords.
type users struct {
	hashes map[string]string // bcrypt, by name
	other  string            // the hash that is computed for a name that does not exist
	secret [32]byte          // of right
	slot   chan struct{}     // one is computed at a time, so that guessing leaves processor time
	queue  chan struct{}     // those that wait for that

	mu    sync.Mutex
	right map[[sha256.Size]byte]time.Time // passwords that were right, and until when that counts; one for each user
}

func newUsers(hashes map[string]string) *users {
	u := &users{hashes: hashes, slot: make(chan struct{}, 1), queue: make(chan struct{}, maxQueue), right: map[[sha256.Size]byte]time.Time{}}
	for _, hash := range hashes {
		u.other = hash
		break
	}
	_, _ = rand.Read(u.secret[:]) // it never fails
	return u
}

// check tells whether a password is that of a user, or fails with errBusy. It takes as long for a name that does not exist.
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
	if u.remembers(sum) { // the request before this one was of the same page
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

// shown makes a name that somebody sent fit for the log.
func shown(name string) string {
	runes := []rune(name)
	for i, r := range runes {
		if !unicode.IsPrint(r) {
			runes[i] = '?'
		}
	}
	return string(runes[:min(len(runes), 60)])
}
