// Package dir answers one question: how do files get into a directory?
package dir
