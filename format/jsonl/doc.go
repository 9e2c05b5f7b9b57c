// Package jsonl answers one question: what does a file of JSON Lines look like?
//
// Every row is a JSON object on a line of its own, whose keys are the labels of the columns, in their
// order. A number is a JSON number only if a reader that has doubles keeps all its digits.
package jsonl
