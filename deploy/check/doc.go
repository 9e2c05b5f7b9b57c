// Package check answers one question: do the dashboard and the alert rules of deploy fit the metrics?
// It is a separate module because the parser of Prometheus is large, and Fanfold does not need it.
package check
