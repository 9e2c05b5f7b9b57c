package s3test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

var authorization = regexp.MustCompile(`^AWS4-HMAC-SHA256 Credential=([^,]+), ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]+)$`)

// signed tells whether a request, or a URL, has a valid signature of version 4.
func signed(r *http.Request) bool {
	query := r.URL.Query()
	date, payload := r.Header.Get("X-Amz-Date"), r.Header.Get("X-Amz-Content-Sha256")
	parts := authorization.FindStringSubmatch(r.Header.Get("Authorization"))
	if parts == nil {
		parts = []string{
			"", query.Get("X-Amz-Credential"), query.Get("X-Amz-SignedHeaders"), query.Get("X-Amz-Signature"),
		}
		date, payload = query.Get("X-Amz-Date"), "UNSIGNED-PAYLOAD"
		query.Del("X-Amz-Signature")
		seconds, err := strconv.Atoi(query.Get("X-Amz-Expires"))
		at, wrong := time.Parse("20060102T150405Z", date)
		if err != nil || wrong != nil || seconds > 7*24*3600 || time.Since(at) > time.Duration(seconds)*time.Second {
			return false
		}
	}
	scope, ours := strings.CutPrefix(parts[1], AccessKey+"/")
	fields := strings.Split(scope, "/")
	if !ours || len(fields) != 4 {
		return false
	}
	var headers strings.Builder
	for name := range strings.SplitSeq(parts[2], ";") {
		value := strings.Join(r.Header.Values(name), ",")
		switch name {
		case "host":
			value = r.Host
		case "content-length":
			value = strconv.FormatInt(r.ContentLength, 10)
		}
		headers.WriteString(name + ":" + strings.Join(strings.Fields(value), " ") + "\n")
	}
	request := strings.Join([]string{
		r.Method, escapedPath(r.URL), strings.ReplaceAll(query.Encode(), "+", "%20"), headers.String(), parts[2],
		payload,
	}, "\n")
	hash := sha256.Sum256([]byte(request))
	key := []byte("AWS4" + SecretKey)
	for _, field := range fields {
		key = mac(key, field)
	}
	text := strings.Join([]string{"AWS4-HMAC-SHA256", date, scope, hex.EncodeToString(hash[:])}, "\n")
	return hmac.Equal([]byte(parts[3]), []byte(hex.EncodeToString(mac(key, text))))
}

// escapedPath escapes all but letters, digits and -._~/, as the signature demands.
func escapedPath(u *url.URL) string {
	var out strings.Builder
	for _, c := range []byte(u.Path) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~/", c) >= 0 {
			out.WriteByte(c)
		} else {
			out.WriteString("%" + strings.ToUpper(hex.EncodeToString([]byte{c})))
		}
	}
	return out.String()
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}
