// Package check tests the dashboard and the alert rules of deploy. It is a module of its own: it
// needs the parser of Prometheus, which is large and no part of Fanfold.
package check
