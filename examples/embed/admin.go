// Admin is an admin page of your own that shows Fanfold's page to order from. Its server asks Fanfold for a link for
// the person who has logged in, and the page has a script that shows the link in a frame.
//
//	FANFOLD=https://reports.example.com FANFOLD_USER=admin:PASSWORD go run ./examples/embed 127.0.0.1:8081
//
// Fanfold needs http.frame_ancestors: [http://localhost:8081].
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"log"
	"net/http"
	"os"
	"strings"
)

var page = template.Must(template.New("").Parse(`<!doctype html>
<html lang="en">
<title>Admin</title>
<h1>Admin of the shop</h1>
<p>You are {{.Person}}.</p>
<script src="{{.Fanfold}}/embed.js" data-page="{{.Link}}" data-title="Reports"></script>
<p>The end of the page</p>
</html>
`))

func main() {
	fanfold, user := os.Getenv("FANFOLD"), os.Getenv("FANFOLD_USER")
	http.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		person := "ann" // take who has logged in to your admin page
		link, err := orderLink(r, fanfold, user, map[string]any{"person": person, "valid": "1h"})
		if err != nil {
			log.Print(err)
			http.Error(w, "Reports are not available at the moment.", http.StatusBadGateway)
			return
		}
		w.Header().Set("Cache-Control", "no-store") // a link is like a password
		_ = page.Execute(w, map[string]string{"Person": person, "Fanfold": fanfold, "Link": link})
	})
	log.Fatal(http.ListenAndServe(os.Args[1], nil))
}

// orderLink asks Fanfold for a link.
func orderLink(of *http.Request, fanfold, user string, request any) (string, error) {
	body, err := json.Marshal(request)
	if err != nil {
		return "", err
	}
	to := fanfold + "/api/v1/order-links"
	r, err := http.NewRequestWithContext(of.Context(), http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	name, password, _ := strings.Cut(user, ":")
	r.SetBasicAuth(name, password)
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusCreated {
		return "", fmt.Errorf("fanfold answered %s", answer.Status)
	}
	var link struct {
		URL string `json:"url"`
	}
	err = json.NewDecoder(answer.Body).Decode(&link)
	return link.URL, err
}
