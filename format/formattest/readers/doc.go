// Package readers answers one question: do the programs of others read the files of the formats as they are meant?
// It is a separate module because their libraries are large, and Fanfold does not need them.
package readers
